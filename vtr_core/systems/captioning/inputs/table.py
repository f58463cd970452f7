"""Videos of a table as a captioner takes them: lists of frame vectors, or of frames' pixels."""

from jaxtyping import Float, Shaped
from torch import Tensor

from vtr_core.data.records.schema import FRAMES
from vtr_core.systems.captioning.config import CaptionerConfig


def column(config: CaptionerConfig) -> tuple[str, int]:
    """The column of the table, and the number of values of a frame."""
    if config.backbone is not None:
        return FRAMES, config.backbone.image_size**2 * 3
    return config.feature, config.inputs.features.get(config.feature, 1)  # a preset without data has a page, too


def as_given(
    frames: Float[Tensor, "videos frames values"], config: CaptionerConfig
) -> Shaped[Tensor, "videos frames *values"]:
    """What `Captioner.video_tokens` takes; pixels are numbers from 0 to 255, row by row, red, green and blue."""
    if config.backbone is None:
        return frames
    size = config.backbone.image_size
    return frames.round().clamp(0, 255).byte().unflatten(2, (size, size, 3)).permute(0, 1, 4, 2, 3)
