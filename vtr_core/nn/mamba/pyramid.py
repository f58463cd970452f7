"""A pyramid of scales over frames and their patches, and the tokens of all scales as one sequence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import adaptive_max_pool2d, pad

from vtr_core.config.towers import Aggregation
from vtr_core.errors import ConfigError

CLS = 1
"""The scale of a frame's single [CLS] token, for which no grid is computed."""


class Pyramid(nn.Module):
    """A feature pyramid: the g × g grid of patches resampled to s × s tokens, for every scale s but that of [CLS].

    Scales are in ascending order.
    s < g     the maxima of s × s regions of about equal size (adaptive max-pooling)
    s = g     the grid itself
    s = 2 g   a transposed convolution from each patch to 2 × 2 tokens of half the channels
    s = 4 g   two of them, to a quarter of the channels, with LayerNorm and GELU between
    Each is followed by a 1 × 1 convolution to `dim` → LayerNorm → GELU → a 3 × 3 convolution → LayerNorm, where a
    LayerNorm is over channels. Sources: Tang et al. 2025, section 3.2; Li et al. 2022 ("Exploring plain vision
    transformer backbones", section 3), whose simple feature pyramid it extends, which also halves the channels where
    it upsamples. Raises ConfigError for other scales.
    """

    has_learner_factor = True

    def __init__(self, dim: int, grid: int, scales: Sequence[int]) -> None:
        super().__init__()
        self._grid = grid
        grids = sorted(scale for scale in scales if scale != CLS)
        self.scales = nn.ModuleDict({str(scale): _scale(dim, grid, scale) for scale in grids})

    def forward(self, patches: Float[Tensor, "frames patches dim"]) -> list[Float[Tensor, "frames _ dim"]]:
        """The tokens of each scale, in row-major order of the grid like the patches."""
        grid = patches.unflatten(1, (self._grid, self._grid)).permute(0, 3, 1, 2)
        return [scale(grid).permute(0, 2, 3, 1).flatten(1, 2) for scale in self.scales.values()]


def grids_of_videos(
    pyramid: Pyramid, patches: Float[Tensor, "rows frames patches dim"], mask: Bool[Tensor, "rows frames"]
) -> list[Float[Tensor, "rows frames _ dim"]]:
    """The tokens of each scale of all frames; those that `mask` leaves out have patches of 0."""
    known = torch.where(mask[:, :, None, None], patches, 0)
    return [tokens.unflatten(0, mask.shape) for tokens in pyramid(known.flatten(0, 1))]


class ChannelNorm(nn.LayerNorm):
    """LayerNorm over the channels at every position of (frames, channels, positions…)."""

    def forward(self, values: Float[Tensor, "frames channels ..."]) -> Float[Tensor, "frames channels ..."]:
        """The normalised values."""
        return super().forward(values.movedim(1, -1)).movedim(-1, 1)


class _MaxPool(nn.Module):
    def __init__(self, scale: int) -> None:
        super().__init__()
        self._scale = scale

    def forward(self, grid: Float[Tensor, "frames dim rows columns"]) -> Float[Tensor, "frames dim scale scale"]:
        return adaptive_max_pool2d(grid, self._scale)


def _scale(dim: int, grid: int, scale: int) -> nn.Sequential:
    resample, channels = _resampled(dim, grid, scale)
    return nn.Sequential(
        *resample,
        nn.Conv2d(channels, dim, kernel_size=1),
        ChannelNorm(dim),
        nn.GELU(),
        nn.Conv2d(dim, dim, kernel_size=3, padding=1),
        ChannelNorm(dim),
    )


def _resampled(dim: int, grid: int, scale: int) -> tuple[list[nn.Module], int]:
    """The layers that resample the grid to a scale, and their number of output channels."""
    half, quarter = max(1, dim // 2), max(1, dim // 4)
    if scale < grid:
        return [_MaxPool(scale)], dim
    if scale == grid:
        return [], dim
    if scale == 2 * grid:
        return [_doubled(dim, half)], half
    if scale == 4 * grid:
        return [_doubled(dim, half), ChannelNorm(half), nn.GELU(), _doubled(half, quarter)], quarter
    raise ConfigError(
        f"scale {scale} cannot be made of a {grid} × {grid} grid; 1, …, {grid}, {2 * grid} and {4 * grid} can"
    )


def _doubled(dim: int, out_dim: int) -> nn.ConvTranspose2d:
    return nn.ConvTranspose2d(dim, out_dim, kernel_size=2, stride=2)


@dataclass(frozen=True)
class TemporalTokens:
    """Tokens of windows of frames."""

    tokens: Float[Tensor, "rows windows dim"]
    mask: Bool[Tensor, "rows windows"]
    """Which of them there are."""


class TemporalScale(nn.Module):
    """Max-pooling over windows of `width` frames, then the layers of a spatial scale with convolutions over time.

    The windows do not overlap, and the last may be shorter. The layers are a 1-wide convolution → LayerNorm → GELU → a
    3-wide convolution → LayerNorm. A window without valid frames gives no token; masked-out frames influence none.
    """

    has_learner_factor = True

    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self._width = width
        self.expand = nn.Sequential(nn.Conv1d(dim, dim, kernel_size=1), ChannelNorm(dim), nn.GELU())
        self.mix = nn.Sequential(nn.Conv1d(dim, dim, kernel_size=3, padding=1), ChannelNorm(dim))

    def forward(self, frames: Float[Tensor, "rows frames dim"], mask: Bool[Tensor, "rows frames"]) -> TemporalTokens:
        """The window tokens of each row, whose valid frames come before its padding."""
        missing = -frames.shape[1] % self._width
        present = pad(mask, (0, missing)).unflatten(1, (-1, self._width))
        values = pad(frames, (0, 0, 0, missing)).unflatten(1, (-1, self._width))
        windows = present.any(dim=2)
        highest = values.masked_fill(~present.unsqueeze(3), -torch.inf).amax(dim=2)
        present_windows = windows.unsqueeze(1)
        expanded = self.expand(torch.where(present_windows, highest.transpose(1, 2), 0))
        return TemporalTokens(self.mix(torch.where(present_windows, expanded, 0)).transpose(1, 2), windows)


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
    anchors: Int64[Tensor, " anchors"]
    """The positions of the tokens of scale 1: one per frame, or one in all after averaging over time."""


def aggregate(scaled: ScaledFrames, order: Aggregation, kept_last: bool = False) -> TokenSequence:
    """The sequence in one of three orders (Tang et al. 2025, section 3.3).

    `scale`: all frames' tokens of scale 1, then of the next, …: 12 frames at scales 1, 3, 7, 14 are 12 · (1 + 9 + 49 +
    196) = 3,060 tokens. `frame`: all scales of the first frame, then of the next, …. `spatial`: the mean over a video's
    frames at scale 1, then at the next, …. Temporal scales come last.
    kept_last: scales in descending order and temporal ones first, so that a scan in one direction reads all other
    scales before the anchors.
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
    if kept_last:
        parts = parts[::-1]
    return TokenSequence(
        tokens=torch.cat([part.tokens for part in parts], dim=1),
        mask=torch.cat([part.mask for part in parts], dim=1),
        anchors=torch.cat([part.is_anchor for part in parts]).nonzero().flatten(),
    )


def learned_changes(
    scaled: ScaledFrames,
    order: Aggregation,
    learner: Callable[[Tensor, Tensor | None], Tensor],
    kept_last: bool = False,
) -> Float[Tensor, "rows anchors dim"]:
    """What `learner` adds to the tokens of scale 1: to each frame's, or to the one of all frames (`spatial`).

    learner: from (rows, tokens, dim), and the valid tokens or None where all are, to tokens of the same shape; the
    sequence is that of `aggregate`.
    """
    sequence = aggregate(scaled, order, kept_last)
    learned = learner(sequence.tokens, None if bool(sequence.mask.all()) else sequence.mask)
    return learned[:, sequence.anchors] - sequence.tokens[:, sequence.anchors]


@dataclass(frozen=True)
class _Part:
    """Some tokens of the sequence, which of them are valid, and which are anchors."""

    tokens: Float[Tensor, "rows tokens dim"]
    mask: Bool[Tensor, "rows tokens"]
    is_anchor: Bool[Tensor, " tokens"]


def _part(
    tokens: Float[Tensor, "rows tokens dim"], mask: Bool[Tensor, "rows tokens"], is_anchor: bool = False
) -> _Part:
    return _Part(tokens, mask, mask.new_full((mask.shape[1],), is_anchor))


def _all_frames(scaled: ScaledFrames) -> list[_Part]:
    grids = [_part(grid.flatten(1, 2), scaled.mask.repeat_interleave(grid.shape[2], 1)) for grid in scaled.spatial]
    return [_part(scaled.frames, scaled.mask, is_anchor=True), *grids]


def _frame_by_frame(scaled: ScaledFrames, kept_last: bool) -> _Part:
    scales = [scaled.frames.unsqueeze(2), *scaled.spatial]
    tokens = torch.cat(scales[::-1] if kept_last else scales, dim=2)
    num_frames, per_frame = tokens.shape[1:3]
    is_anchor = scaled.mask.new_zeros((num_frames, per_frame))
    is_anchor[:, -1 if kept_last else 0] = True
    return _Part(tokens.flatten(1, 2), scaled.mask.repeat_interleave(per_frame, dim=1), is_anchor.flatten())


def _over_time(scaled: ScaledFrames) -> list[_Part]:
    """The mean of each scale over a video's frames; 0 for a video without any."""
    present, frames = scaled.mask.any(dim=1, keepdim=True), scaled.mask[:, :, None, None]
    scales = (scaled.frames.unsqueeze(2), *scaled.spatial)
    means = [torch.where(frames, values, 0).sum(dim=1) / frames.sum(dim=1).clamp(min=1) for values in scales]
    return [_part(mean, present.expand(-1, mean.shape[1]), index == 0) for index, mean in enumerate(means)]
