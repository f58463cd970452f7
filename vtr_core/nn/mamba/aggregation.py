"""The tokens of all scales as one sequence, and the updated frames that are read from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from vtr_core.config.blocks.learners import Aggregation
from vtr_core.nn.mamba.temporal_scale import TemporalTokens


@dataclass(frozen=True)
class ScaledFrames:
    """The tokens of a batch of videos at every scale."""

    frames: Float[Tensor, "rows frames dim"]
    """Scale 1: of every frame its [CLS] token."""
    mask: Bool[Tensor, "rows frames"]
    """Which frames there are."""
    spatial: Sequence[Float[Tensor, "rows frames _ dim"]] = ()
    """The grids of the other scales, in ascending order."""
    temporal: Sequence[TemporalTokens] = ()
    """Coarser scales in time."""


@dataclass(frozen=True)
class TokenSequence:
    """One sequence of the tokens of all scales."""

    tokens: Float[Tensor, "rows tokens dim"]
    mask: Bool[Tensor, "rows tokens"]
    kept: Int64[Tensor, " kept"]
    """The positions of the tokens of scale 1: one per frame, or one in all after averaging over time."""


def aggregate(scaled: ScaledFrames, order: Aggregation, kept_last: bool = False) -> TokenSequence:
    """The sequence in one of three orders (Tang et al. 2025, section 3.3).

    `scale`: all frames' tokens of scale 1, then of the next, …: 12 frames at scales 1, 3, 7, 14 are 12 · (1 + 9 + 49 +
    196) = 3,060 tokens. `frame`: all scales of the first frame, then of the next, …. `spatial`: the mean over a video's
    frames at scale 1, then at the next, …. Temporal scales come last.
    kept_last: scales in descending order and temporal ones first, so that a scan in one direction reads all other
    scales before the kept tokens.
    """
    match order:
        case "scale":
            parts = _all_frames(scaled)
        case "frame":
            parts = [_frame_by_frame(scaled, kept_last)]
        case "spatial":
            parts = _over_time(scaled)
        case _:
            assert_never(order)
    parts = [*parts, *(_part(part.tokens, part.mask) for part in scaled.temporal)]
    return _concatenated(parts[::-1] if kept_last else parts)


def learned_changes(
    scaled: ScaledFrames,
    order: Aggregation,
    learner: Callable[[Tensor, Tensor | None], Tensor],
    kept_last: bool = False,
) -> Float[Tensor, "rows kept dim"]:
    """What `learner` adds to the tokens of scale 1: to each frame's, or to the one of all frames (`spatial`).

    learner: from (rows, tokens, dim), and the valid tokens or None where all are, to tokens of the same shape; the
    sequence is that of `aggregate`.
    """
    sequence = aggregate(scaled, order, kept_last)
    learned = learner(sequence.tokens, None if bool(sequence.mask.all()) else sequence.mask)
    return learned[:, sequence.kept] - sequence.tokens[:, sequence.kept]


@dataclass(frozen=True)
class _Part:
    """Some tokens of the sequence, which of them are valid, and which are kept."""

    tokens: Float[Tensor, "rows tokens dim"]
    mask: Bool[Tensor, "rows tokens"]
    kept: Bool[Tensor, " tokens"]


def _part(tokens: Float[Tensor, "rows tokens dim"], mask: Bool[Tensor, "rows tokens"], kept: bool = False) -> _Part:
    return _Part(tokens, mask, mask.new_full((mask.shape[1],), kept))


def _all_frames(scaled: ScaledFrames) -> list[_Part]:
    grids = [_part(grid.flatten(1, 2), scaled.mask.repeat_interleave(grid.shape[2], 1)) for grid in scaled.spatial]
    return [_part(scaled.frames, scaled.mask, kept=True), *grids]


def _frame_by_frame(scaled: ScaledFrames, kept_last: bool) -> _Part:
    scales = [scaled.frames.unsqueeze(2), *scaled.spatial]
    tokens = torch.cat(scales[::-1] if kept_last else scales, dim=2)
    num_frames, per_frame = tokens.shape[1:3]
    kept = scaled.mask.new_zeros((num_frames, per_frame))
    kept[:, -1 if kept_last else 0] = True
    return _Part(tokens.flatten(1, 2), scaled.mask.repeat_interleave(per_frame, dim=1), kept.flatten())


def _over_time(scaled: ScaledFrames) -> list[_Part]:
    present = scaled.mask.any(dim=1, keepdim=True)
    means = [_mean(values, scaled.mask) for values in (scaled.frames.unsqueeze(2), *scaled.spatial)]
    return [_part(mean, present.expand(-1, mean.shape[1]), index == 0) for index, mean in enumerate(means)]


def _mean(
    values: Float[Tensor, "rows frames cells dim"], mask: Bool[Tensor, "rows frames"]
) -> Float[Tensor, "rows cells dim"]:
    """The mean over the frames of `mask`; 0 for a row without any."""
    there = mask[:, :, None, None]
    return torch.where(there, values, 0).sum(dim=1) / there.sum(dim=1).clamp(min=1)


def _concatenated(parts: list[_Part]) -> TokenSequence:
    return TokenSequence(
        tokens=torch.cat([part.tokens for part in parts], dim=1),
        mask=torch.cat([part.mask for part in parts], dim=1),
        kept=torch.cat([part.kept for part in parts]).nonzero().flatten(),
    )
