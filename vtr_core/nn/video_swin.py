"""Video Swin Transformer (Liu et al. 2022), with the parameter names of its published checkpoints."""

from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64, UInt8
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from vtr_core.config.pretrained import SwinConfig
from vtr_core.nn.backbone import Backbone

if TYPE_CHECKING:
    from collections.abc import Sequence


MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of the channels red, green and blue of ImageNet's pictures, for values from 0 to 1."""


def stretched(
    frames: UInt8[Tensor, "clips frames 3 height width"], mask: Bool[Tensor, "clips frames"], length: int
) -> UInt8[Tensor, "clips {length} 3 height width"]:
    """Every clip as `length` frames: frame i is frame ⌊i · n / length⌋ of the clip's n, which are its first ones.

    What follows a clip's last frame is not read; a clip without frames is black.
    """
    lengths = mask.sum(dim=1, keepdim=True)
    place = torch.arange(length, device=frames.device) * lengths // length
    taken = frames[torch.arange(len(frames), device=frames.device).unsqueeze(1), place]
    return torch.where((lengths > 0).view(-1, 1, 1, 1, 1), taken, 0)


def normalized(
    frames: UInt8[Tensor, "clips frames 3 height width"], dtype: torch.dtype
) -> Float[Tensor, "clips 3 frames height width"]:
    """Pixels of mean 0 and deviation 1 by channel, channels first."""
    mean, deviation = (torch.tensor(three, dtype=dtype, device=frames.device) for three in (MEAN, DEVIATION))
    return ((frames.to(dtype) / 255).movedim(2, 4) - mean).div(deviation).permute(0, 4, 1, 2, 3)


Window = tuple[int, int, int]
WINDOW: Window = (8, 7, 7)
"""Patches in time, height and width."""


def fitting(sizes: Window, is_shifted: bool) -> tuple[Window, Window]:
    """Window size and shift; along a side not longer than the window, the window is the side, without a shift."""
    pairs = list(zip(sizes, WINDOW, strict=True))
    first, second, third = (min(size, side) for size, side in pairs)
    steps = [side // 2 if is_shifted and size > side else 0 for size, side in pairs]
    return (first, second, third), (steps[0], steps[1], steps[2])


def windows(
    patches: Float[Tensor, "clips steps rows cols dim"], window: Window
) -> Float[Tensor, "clips_windows patches dim"]:
    """The windows of all clips, clip by clip."""
    clips, steps, rows, columns, dim = patches.shape
    t, h, w = window
    cut = patches.reshape(clips, steps // t, t, rows // h, h, columns // w, w, dim)
    return cut.permute(0, 1, 3, 5, 2, 4, 6, 7).reshape(-1, t * h * w, dim)


def unwindowed(
    cut: Float[Tensor, "clips_windows patches dim"], window: Window, sizes: Window
) -> Float[Tensor, "clips steps rows cols dim"]:
    """The inverse of `windows`."""
    (t, h, w), (steps, rows, columns) = window, sizes
    whole = cut.reshape(-1, steps // t, rows // h, columns // w, t, h, w, cut.shape[-1])
    return whole.permute(0, 1, 4, 2, 5, 3, 6, 7).reshape(-1, steps, rows, columns, cut.shape[-1])


@cache
def shift_mask(sizes: Window, window: Window, shift: Window) -> Float[Tensor, "places patches patches"]:
    """Attention mask: −100 between patches of a shifted window that come from opposite sides of the clip, else 0."""
    region = torch.zeros(1, *sizes, 1)
    for axis, (size, side, step) in enumerate(zip(sizes, window, shift, strict=True), start=1):
        place = torch.arange(size)
        part = (place >= size - side).long() + ((place >= size - step).long() if step else 0)
        region = 3 * region + part.view([-1 if i == axis else 1 for i in range(5)])
    cut = windows(region, window)
    return (cut != cut.transpose(1, 2)).float() * -100.0


def relative_positions(window: Window) -> Int64[Tensor, "patches patches"]:
    """The row of the bias table for each pair of patches of a window."""
    places = torch.stack(torch.meshgrid([torch.arange(side) for side in window], indexing="ij")).flatten(1)
    apart = places[:, :, None] - places[:, None, :] + torch.tensor(window).view(3, 1, 1) - 1
    spans = [2 * side - 1 for side in window]
    rows: Tensor = apart[0] * spans[1] * spans[2] + apart[1] * spans[2] + apart[2]
    return rows


WIDTH, DEPTHS, HEADS = 128, (2, 2, 18, 2), (4, 8, 16, 32)
"""The sizes of Video Swin-B."""
_PATCH = (2, 4, 4)


class VideoSwin(Backbone):
    """The network without its classifier. With `recompute` activations are recomputed in the backward pass; the first
    `freeze` blocks, and the embedding of patches below them, are not trained, with "all" nothing is.
    """

    def __init__(
        self,
        width: int = WIDTH,
        depths: "Sequence[int]" = DEPTHS,
        heads: "Sequence[int]" = HEADS,
        recompute: bool = False,
        freeze: int | Literal["all"] = 0,
    ) -> None:
        super().__init__()
        self.patch_embed = PatchEmbedding(width)
        last = len(depths) - 1
        stages = [Stage(width * 2**i, depths[i], heads[i], i < last, recompute) for i in range(len(depths))]
        self.layers = nn.ModuleList(stages)
        self.norm = nn.LayerNorm(width * 2**last)
        self.apply(_initialize)
        self.freeze_layers(freeze)

    def forward(self, frames: Float[Tensor, "clips 3 time height width"]) -> Float[Tensor, "clips steps rows cols dim"]:
        """Features; (clips, 16, 7, 7, 1024) for clips of 32 × 224 × 224 pixels."""
        patches = self.patch_embed(frames)
        for stage in self.layers:
            patches = stage(patches)
        return self.norm(patches)

    def places(
        self, frames: UInt8[Tensor, "clips frames 3 height width"], mask: Bool[Tensor, "clips frames"], length: int
    ) -> tuple[Float[Tensor, "clips places dim"], Bool[Tensor, "clips places"]]:
        """The output of `forward` for clips stretched to `length` frames, step by step and row by row, with a mask that
        is false for clips without frames.
        """
        features = self(normalized(stretched(frames, mask, length), self.norm.weight.dtype)).flatten(1, 3)
        return features, mask.any(dim=1, keepdim=True).expand(-1, features.shape[1])

    def layers_by_depth(self) -> list[list[nn.Parameter]]:
        """The parameters of the embedding of patches, of each block, and of the last norm.

        Patch merging counts to the block before it.
        """
        layers = [list(self.patch_embed.parameters())]
        for stage in self.layers:
            assert isinstance(stage, Stage)
            layers += [list(block.parameters()) for block in stage.blocks]
            layers[-1] += [] if stage.downsample is None else list(stage.downsample.parameters())
        return [*layers, list(self.norm.parameters())]


class PatchEmbedding(nn.Module):
    """Linear embedding of patches of 2 frames and 4 × 4 pixels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.proj = nn.Conv3d(3, width, _PATCH, _PATCH)
        self.norm = nn.LayerNorm(width)

    def forward(self, frames: Float[Tensor, "clips 3 time height width"]) -> Float[Tensor, "clips steps rows cols dim"]:
        """The embedded patches; sizes that are no multiple of the patch size are padded with zeros."""
        missing = [-size % patch for size, patch in zip(frames.shape[2:], _PATCH, strict=True)]
        padded = F.pad(frames, (0, missing[2], 0, missing[1], 0, missing[0]))
        return self.norm(self.proj(padded).permute(0, 2, 3, 4, 1))


class Stage(nn.Module):
    """Blocks of one width, followed by patch merging where `merges`."""

    def __init__(self, width: int, depth: int, heads: int, merges: bool, recompute: bool) -> None:
        super().__init__()
        self._recompute = recompute
        self.blocks = nn.ModuleList([Block(width, heads, is_shifted=index % 2 == 1) for index in range(depth)])
        self.downsample = Merging(width) if merges else None

    def forward(self, patches: Float[Tensor, "clips steps rows cols _"]) -> Float[Tensor, "clips steps _ _ dim"]:
        """The output of the stage."""
        for block in self.blocks:
            again = self._recompute and torch.is_grad_enabled()
            patches = checkpoint(block, patches, use_reentrant=False) if again else block(patches)
        return patches if self.downsample is None else self.downsample(patches)


class Merging(nn.Module):
    """Patch merging: 2 × 2 neighbours are concatenated, normalised and projected to half as many values."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.reduction = nn.Linear(4 * width, 2 * width, bias=False)
        self.norm = nn.LayerNorm(4 * width)

    def forward(self, patches: Float[Tensor, "clips steps rows cols _"]) -> Float[Tensor, "clips steps _ _ dim"]:
        """The merged patches, with half as many rows and columns."""
        even = F.pad(patches, (0, 0, 0, patches.shape[3] % 2, 0, patches.shape[2] % 2))
        corners = [even[:, :, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        return self.reduction(self.norm(torch.cat(corners, dim=-1)))


class Block(nn.Module):
    """Window attention and an MLP, each with a residual connection."""

    def __init__(self, width: int, heads: int, is_shifted: bool) -> None:
        super().__init__()
        self._is_shifted = is_shifted
        self.norm1 = nn.LayerNorm(width)
        self.attn = WindowAttention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def forward(
        self, patches: Float[Tensor, "clips steps rows cols dim"]
    ) -> Float[Tensor, "clips steps rows cols dim"]:
        """The output of the block."""
        patches = patches + self._attended(self.norm1(patches))
        return patches + self.mlp(self.norm2(patches))

    def _attended(self, patches: Tensor) -> Tensor:
        """Window attention: pads to whole windows, shifts, partitions, attends, and reverses these steps."""
        sizes = (patches.shape[1], patches.shape[2], patches.shape[3])
        window, shift = fitting(sizes, self._is_shifted)
        missing = [-size % side for size, side in zip(sizes, window, strict=True)]
        padded = F.pad(patches, (0, 0, 0, missing[2], 0, missing[1], 0, missing[0]))
        whole = (padded.shape[1], padded.shape[2], padded.shape[3])
        rolled = torch.roll(padded, [-step for step in shift], (1, 2, 3))
        mask = shift_mask(whole, window, shift).to(patches.device) if any(shift) else None
        attended = self.attn(windows(rolled, window), mask)
        back = torch.roll(unwindowed(attended, window, whole), shift, (1, 2, 3))
        return back[:, : sizes[0], : sizes[1], : sizes[2]]


class Mlp(nn.Module):
    """Two linear layers with GELU between them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, patches: Float[Tensor, "*places dim"]) -> Float[Tensor, "*places dim"]:
        """The output of both layers."""
        return self.fc2(F.gelu(self.fc1(patches)))


class WindowAttention(nn.Module):
    """Multi-head self-attention within windows, with a learnt bias for each relative position."""

    relative_position_index: Tensor

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self._heads = heads
        positions = int(np.prod([2 * side - 1 for side in WINDOW]))
        self.relative_position_bias_table = nn.Parameter(torch.zeros(positions, heads))
        self.register_buffer("relative_position_index", relative_positions(WINDOW))
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def undecayed(self) -> list[nn.Parameter]:
        """The biases, which lie in a matrix."""
        return [self.relative_position_bias_table]

    def forward(
        self, patches: Float[Tensor, "windows patches dim"], mask: Float[Tensor, "places patches patches"] | None
    ) -> Float[Tensor, "windows patches dim"]:
        """The attended patches; mask: added to the attention scores, for each window of a clip."""
        count = patches.shape[1]
        query, key, value = self.qkv(patches).unflatten(2, (3, self._heads, -1)).permute(2, 0, 3, 1, 4)
        index = self.relative_position_index[:count, :count]
        bias = self.relative_position_bias_table[index].permute(2, 0, 1)
        if mask is not None:
            bias = (bias + mask[:, None]).repeat(len(patches) // len(mask), 1, 1, 1)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=bias.expand(len(patches), -1, -1, -1))
        return self.proj(attended.transpose(1, 2).flatten(2))


def _initialize(layer: nn.Module) -> None:
    """Xavier's weights (Glorot and Bengio 2010, Eq. 16), and biases of 0: random ones would be common to all clips."""
    if isinstance(layer, nn.Linear | nn.Conv3d):
        nn.init.xavier_uniform_(layer.weight.flatten(1))
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


def build_swin(config: SwinConfig) -> VideoSwin:
    """The network of a configuration, with random initial weights."""
    return VideoSwin(config.width, config.depths, config.heads, config.recompute, config.freeze)
