"""Gradient caching: micro-batches for batches whose activations do not fit into memory."""

from torch import nn
from torch.utils.checkpoint import checkpoint

from vtr_core.data.batches.rows import CaptionedBatch
from vtr_core.nn.embeddings import Embeddings, concatenate


class MicroBatches(nn.Module):
    """The model, applied to a batch `rows` rows at a time, so that memory for activations is that of `rows` rows.

    The loss needs the embeddings of the whole batch at once, but not the activations behind them: these are dropped in
    the forward pass and recomputed, micro-batch by micro-batch, once the gradient of its embeddings is known, with the
    same random draws (Gao et al. 2021, "Scaling deep contrastive learning batch size under memory limited setup").
    Without dropout embeddings and gradients equal those of one pass over the whole batch.
    """

    def __init__(self, model: nn.Module, rows: int) -> None:
        super().__init__()
        self.model = model
        self.rows = rows

    def forward(self, batch: CaptionedBatch) -> Embeddings:
        """The embeddings of all rows."""
        return concatenate([checkpoint(self.model, part, use_reentrant=False) for part in batch.split(self.rows)])
