"""Levels 2 and 3 of multi-level encoding: a biGRU over the sequence, and convolutions over its outputs."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from vtr_core.config.blocks.temporal_levels import TemporalLevelsConfig
from vtr_core.nn.encoders.padded_gru import padded_gru
from vtr_core.nn.encoders.row_convolutions import strongest_responses
from vtr_core.nn.fan_in import bidirectional_gru, fan_in_convolution


class TemporalLevels(nn.Module):
    """[mean over steps of h_t; max over time of ReLU(conv_k(h)) for every width k], h the outputs of a biGRU.

    Level 2 is 2 · hidden_dim long, level 3 num_filters for each width; a convolution is padded with k − 1 zeros on both
    sides. Source: Dong et al. 2021, "Dual encoding for video retrieval by text", Eq. 3.2 to 3.5 of the thesis.

    Padding changes no output: the GRU never reads it, and a window of padding alone takes no part in the maximum.
    reads_padding: as in the published code for frames, the backward GRU starts in the padding, whose outputs are then
    set to 0. padded_windows: windows of padding alone, ReLU(bias), take part in the maximum.
    """

    def __init__(
        self, in_dim: int, config: TemporalLevelsConfig, dropout: float, reads_padding: bool, padded_windows: bool
    ) -> None:
        super().__init__()
        self._reads_padding, self._padded_windows = reads_padding, padded_windows
        self.gru = bidirectional_gru(in_dim, config.hidden_dim)
        self.convolutions = nn.ModuleList(
            fan_in_convolution(2 * config.hidden_dim, config.num_filters, width, padding=width - 1)
            for width in config.kernel_sizes
        )
        self.dropout = nn.Dropout(dropout)
        self.out_dim = 2 * config.hidden_dim + len(config.kernel_sizes) * config.num_filters

    def forward(
        self, values: Float[Tensor, "rows steps dim"], mask: Bool[Tensor, "rows steps"]
    ) -> Float[Tensor, "rows out_dim"]:
        """Levels 2 and 3 of each row, whose steps come first and are true in `mask`; a row without any gives zeros."""
        if not len(values):  # a GRU takes at least one row
            return values.new_zeros((0, self.out_dim))
        values = torch.where(mask.unsqueeze(2), values, 0)
        lengths = mask.sum(dim=1)
        hidden = torch.where(mask.unsqueeze(2), self._hidden(values, lengths), 0)
        mean = hidden.sum(dim=1) / lengths.clamp(min=1).unsqueeze(1)
        local = strongest_responses(self.convolutions, hidden, mask, self._padded_windows)
        levels = torch.cat([self.dropout(mean), self.dropout(local)], dim=1)
        return torch.where((lengths > 0).unsqueeze(1), levels, 0)

    def _hidden(
        self, values: Float[Tensor, "rows steps dim"], lengths: Int64[Tensor, " rows"]
    ) -> Float[Tensor, "rows steps hidden"]:
        # Autocast would run the GRU in float16 on a GPU, where its gradients underflow without loss scaling.
        with torch.autocast(values.device.type, enabled=False):
            values = values.to(self.gru.weight_hh_l0.dtype)  # type: ignore[arg-type]
            return self.gru(values)[0] if self._reads_padding else padded_gru(self.gru, values, lengths)
