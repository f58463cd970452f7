"""The mean of a video's L2-normalised frames."""

from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import normalize

from vtr_core.nn.precision import at_least_float32


def mean_direction(
    frames: Float[Tensor, "rows frames dim"], mask: Bool[Tensor, "rows frames"]
) -> Float[Tensor, "rows dim"]:
    """m / ‖m‖, m the mean of x / ‖x‖ over a row's frames x (meanP of Luo et al. 2022); 0 for a row without any."""
    directions = normalize(at_least_float32(frames), dim=2) * mask.unsqueeze(2)
    return normalize(directions.sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1), dim=1)
