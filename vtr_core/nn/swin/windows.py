"""Windows of a clip's patches, their mask where they are shifted, and relative positions in them."""

from functools import cache

import torch
from jaxtyping import Float, Int64
from torch import Tensor

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
    seen: Float[Tensor, "clips steps rows cols dim"], window: Window
) -> Float[Tensor, "clips_windows patches dim"]:
    """The windows of all clips, clip by clip."""
    clips, steps, rows, columns, dim = seen.shape
    t, h, w = window
    cut = seen.reshape(clips, steps // t, t, rows // h, h, columns // w, w, dim)
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
    found: Tensor = apart[0] * spans[1] * spans[2] + apart[1] * spans[2] + apart[2]
    return found
