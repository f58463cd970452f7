"""Convolutions over rows of several lengths without computing windows of padding, and their maxima over time."""

from typing import cast

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn


def strongest_responses(
    convolutions: nn.ModuleList,
    hidden: Float[Tensor, "rows steps dim"],
    mask: Bool[Tensor, "rows steps"],
    padded_windows: bool,
) -> Float[Tensor, "rows filters"]:
    """max over time of ReLU(conv(h)) of every row and filter, side by side for all convolutions.

    A row's steps come first and are true in `mask`. A convolution of width k is padded with k − 1 zeros, so that a row
    of n steps has n + k − 1 windows. The rows lie in one line, k − 1 zeros or more behind each, which is both its
    padding and the next row's. padded_windows: windows beyond these, which see padding alone and respond with
    ReLU(bias), take part in the maximum of rows that are shorter than `mask`.
    """
    layers = [cast(nn.Conv1d, layer) for layer in convolutions]
    gap = max(layer.kernel_size[0] for layer in layers) - 1
    found, lengths = [], mask.sum(dim=1)
    first = torch.cumsum(lengths + gap, dim=0) - (lengths + gap)
    line = _line(hidden, mask, first, gap).T.contiguous().unsqueeze(0)
    for layer in layers:
        responses, before = torch.relu(layer(line))[0].T, layer.kernel_size[0] - 1
        window = torch.arange(mask.shape[1] + before, device=mask.device)
        own = responses[(first.unsqueeze(1) + window).clamp(max=len(responses) - 1)]
        real = (window < (lengths + before).unsqueeze(1)).unsqueeze(2)
        # a response is never negative, so 0 changes no maximum
        other = torch.relu(layer.bias) if padded_windows and layer.bias is not None else 0.0
        found.append(torch.where(real, own, other).amax(dim=1))
    return torch.cat(found, dim=1)


def _line(
    hidden: Float[Tensor, "rows steps dim"], mask: Bool[Tensor, "rows steps"], first: Int64[Tensor, " rows"], gap: int
) -> Float[Tensor, "total dim"]:
    """All steps of all rows one after another, row i from `first[i]` on, with `gap` zeros behind each row."""
    steps = hidden[mask]
    place = (first.unsqueeze(1) + torch.arange(mask.shape[1], device=mask.device))[mask]
    return steps.new_zeros(len(steps) + gap * len(hidden), hidden.shape[2]).index_copy(0, place, steps)
