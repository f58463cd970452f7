"""The sizes of a video's frames, and the mean of its L2-normalised frames."""

from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize

from vtr_core.nn.precision import at_least_float32


def root_mean_square(frames: Float[Tensor, "rows frames dim"]) -> Float[Tensor, "rows frames 1"]:
    """The root of the mean square of each frame's values; 0 with a gradient of 0 for a frame of zeros."""
    square = frames.square().mean(dim=2, keepdim=True)
    return square.masked_fill(square == 0, 1).sqrt().masked_fill(square == 0, 0)


def of_unit_size(
    frames: Float[Tensor, "rows frames dim"], size: Float[Tensor, "rows frames 1"]
) -> Float[Tensor, "rows frames dim"]:
    """Frames divided by their `root_mean_square`; a frame of zeros stays as it is, and its gradient too."""
    return frames / size.masked_fill(size == 0, 1).clamp(min=1e-12)


def mean_direction(
    frames: Float[Tensor, "rows frames dim"], mask: Bool[Tensor, "rows frames"]
) -> Float[Tensor, "rows dim"]:
    """m / ‖m‖, m the mean of x / ‖x‖ over a row's frames x (meanP of Luo et al. 2021); 0 for a row without any."""
    directions = normalize(at_least_float32(frames), dim=2) * mask.unsqueeze(2)
    return normalize(directions.sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1), dim=1)
