"""The dual encoder's parts, one row and one number at a time."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from vtr_core.nn.multi_level_encoding import TemporalLevels


def temporal_levels(levels: TemporalLevels, steps: Tensor) -> Tensor:
    """Levels 2 and 3 of one sequence without any padding."""
    hidden, _ = levels.gru(steps.unsqueeze(0))
    hidden = hidden[0]
    parts = [hidden.mean(dim=0)]
    for convolution in levels.convolutions:
        assert isinstance(convolution, nn.Conv1d)
        width = convolution.kernel_size[0]
        zeros = hidden.new_zeros((width - 1, hidden.shape[1]))
        padded = torch.cat([zeros, hidden, zeros])
        windows = [padded[t : t + width] for t in range(len(hidden) + width - 1)]
        responses = [torch.einsum("fdk,kd->f", convolution.weight, window) + convolution.bias for window in windows]
        parts.append(torch.stack([response.clamp(min=0) for response in responses]).amax(dim=0))
    return torch.cat(parts)


def triplet(similarity: Tensor, margin: float, negatives: Tensor, which: str) -> Tensor:
    """Both directions' hinges, summed; `which`: of the hardest negative or of all."""
    total, size = similarity.new_zeros(()), len(similarity)
    for i in range(size):
        others = [j for j in range(size) if j != i and negatives[i, j]]
        row = [(margin + similarity[i, j] - similarity[i, i]).clamp(min=0) for j in others]
        column = [(margin + similarity[j, i] - similarity[i, i]).clamp(min=0) for j in others]
        for hinges in (row, column):
            if hinges:
                total = total + (max(hinges) if which == "hardest" else sum(hinges))
    return total


def jaccard(a: Sequence[float], b: Sequence[float]) -> float:
    """Σ min / Σ max; 0 for two zero vectors."""
    union = sum(max(x, y) for x, y in zip(a, b, strict=True))
    return sum(min(x, y) for x, y in zip(a, b, strict=True)) / union if union else 0.0


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """a · b / (‖a‖ ‖b‖)."""
    length = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / length if length else 0.0


def cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    """The mean over concepts of a row's binary cross-entropy, from probabilities."""
    p = torch.sigmoid(scores)
    return -(labels * p.log() + (1 - labels) * (1 - p).log()).mean()
