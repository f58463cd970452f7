"""A bidirectional GRU over sequences of several lengths that never reads their padding."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def padded_gru(
    gru: nn.GRU, values: Float[Tensor, "rows steps dim"], lengths: Int64[Tensor, " rows"]
) -> Float[Tensor, "rows steps hidden"]:
    """The outputs of `gru`, of one layer and both directions, over the first `lengths` steps of every row.

    What it has at later steps says nothing. On a GPU the sequences are packed. On a CPU torch's backward pass of packed
    sequences fills a gradient of all steps with zeros at every step, in a profile a third of the dual encoder's step;
    there each direction runs over the padded rows, the backward one over their reversed steps.
    """
    if values.is_cuda:
        packed = pack_padded_sequence(values, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(gru(packed)[0], batch_first=True, total_length=values.shape[1])[0]
    forward = _one_direction(gru, "l0", values)
    backward = _one_direction(gru, "l0_reverse", _reversed(values, lengths))
    return torch.cat([forward, _reversed(backward, lengths)], dim=2)


def _one_direction(
    gru: nn.GRU, name: str, values: Float[Tensor, "rows steps dim"]
) -> Float[Tensor, "rows steps hidden"]:
    parts = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    weights: list[Tensor] = [gru.get_parameter(f"{part}_{name}") for part in parts]
    start = values.new_zeros(1, len(values), gru.hidden_size)
    found: Tensor = torch.gru(values, start, weights, True, 1, 0.0, gru.training, False, True)[0]
    return found


def _reversed(
    values: Float[Tensor, "rows steps dim"], lengths: Int64[Tensor, " rows"]
) -> Float[Tensor, "rows steps dim"]:
    """The first `lengths` steps of every row in reversed order; then any of its steps."""
    step = (lengths.unsqueeze(1) - 1 - torch.arange(values.shape[1], device=values.device)).clamp(min=0)
    return values.gather(1, step.unsqueeze(2).expand_as(values))
