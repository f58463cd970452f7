"""How frames become a pretrained model's pixels: scaled and cropped by the decoder, normalised beside the model.

`FramePreparation.of(processor)` reads a transformers image processor, and compares its own pixels with the processor's
on a random frame: what it cannot express, such as padding, is left to the processor, which then sees whole frames.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8
from PIL import Image
from torch import Tensor

from vtr_core.backbones.inputs import Normalization, to_floats
from vtr_core.errors import CheckpointError
from vtr_core.video.streams import (
    FullPicture,
    PatchedPicture,
    Picture,
    PictureKind,
    RoundedPicture,
    Scaler,
    SquashedPicture,
    prepared,
)

TOLERANCE = 1e-5
"""Greatest difference from the processor's pixels."""
_PROBES = ((37, 61), (90, 64), (233, 301), (64, 64), (240, 427))
"""Heights and widths of the frames that are compared."""


@dataclass(frozen=True)
class FramePreparation:
    """From decoded frames to the arguments of a model."""

    picture: PictureKind
    """What the decoder does."""
    normalization: Normalization
    processor: Any = None
    """The processor that does all the rest, where `picture` is a whole frame."""

    @classmethod
    def of(cls, processor: Any) -> "FramePreparation":
        """The preparation that equals `processor` on frames of several sizes, to `TOLERANCE`."""
        for made in _expressed(processor):
            if all(made.equals(processor, *size) for size in [*_PROBES, *made.nearly_square]):
                return made
        return cls(FullPicture(), Normalization((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), processor)

    @property
    def nearly_square(self) -> list[tuple[int, int]]:
        """Heights and widths of frames that tell apart how odd margins of a crop are halved."""
        if not isinstance(self.picture, Picture):
            return []
        return [(self.picture.short_side, self.picture.short_side + margin) for margin in range(4)]

    def equals(self, processor: Any, height: int, width: int) -> bool:
        """Whether a random frame of this size becomes what `processor` makes of it."""
        frame = np.random.default_rng(height * width).integers(0, 256, (height, width, 3), dtype=np.uint8)
        expected = _by(processor, frame[None])
        inputs = self.inputs(prepared(frame[None], self.picture), "cpu")
        return inputs.keys() == expected.keys() and all(
            value.shape == expected[name].shape
            and bool((value.float() - expected[name].float()).abs().max() <= TOLERANCE)
            for name, value in inputs.items()
        )

    def inputs(self, pictures: UInt8[np.ndarray, "frames height width 3"], device: str) -> dict[str, Tensor]:
        """The model's arguments of pictures as the decoder makes them: `pixel_values`, and of patches their places."""
        if self.processor is not None:
            return {name: value.to(device) for name, value in _by(self.processor, pictures).items()}
        pixels = to_floats(pictures, self.normalization, device)
        if not isinstance(self.picture, PatchedPicture):
            return {"pixel_values": pixels}
        return _patched(pixels, self.picture)

    def settings(self) -> dict[str, object]:
        """What decides the pixels, for a fingerprint."""
        processor = None if self.processor is None else self.processor.to_dict()
        return {
            "picture": [type(self.picture).__name__, asdict(self.picture)],
            "normalization": asdict(self.normalization),
            "processor": processor,
        }


def _expressed(processor: Any) -> list[FramePreparation]:
    """The preparations that a processor's settings may mean; none where they are of another kind."""

    def setting(name: str, otherwise: Any = None) -> Any:
        value = getattr(processor, name, None)
        return otherwise if value is None else value

    rescale = float(setting("rescale_factor", 1 / 255)) if setting("do_rescale", True) else 1.0
    mean = tuple(map(float, setting("image_mean", (0, 0, 0)))) if setting("do_normalize", True) else (0.0,) * 3
    deviation = tuple(map(float, setting("image_std", (1, 1, 1)))) if setting("do_normalize", True) else (1.0,) * 3
    if len(mean) != 3 or len(deviation) != 3:
        return []
    return [
        FramePreparation(kind, Normalization(mean, deviation, 1 / rescale)) for kind in _pictures(processor, setting)
    ]


def _pictures(processor: Any, setting: Any) -> list[PictureKind]:
    if not setting("do_resize", True) or setting("do_pad", False):
        return []
    scaler: Scaler = f"pillow_{Image.Resampling(int(setting('resample', 2))).name.lower()}"  # type: ignore[assignment]
    if setting("max_num_patches") is not None:
        return [PatchedPicture(int(processor.patch_size), int(processor.max_num_patches), scaler)]
    size, crop = _sides(setting("size")), _sides(setting("crop_size"))
    crops = bool(setting("do_center_crop", False))
    if "shortest_edge" in size and crops and crop.get("height") and crop.get("height") == crop.get("width"):
        return [kind(crop["height"], size["shortest_edge"], scaler) for kind in (Picture, RoundedPicture)]
    if "height" in size and "width" in size and (not crops or crop == size):
        return [SquashedPicture(size["height"], size["width"], scaler)]
    return []


def _sides(size: Any) -> dict[str, int]:
    """A processor's size by the names of its sides, without those that are not given."""
    if size is None:
        return {}
    if isinstance(size, int):
        return {"shortest_edge": size}
    sizes = size if isinstance(size, dict) else vars(size)
    return {str(name): int(value) for name, value in sizes.items() if value is not None}


def _patched(pixels: Tensor, kind: PatchedPicture) -> dict[str, Tensor]:
    """Patches row by row with their colours last, filled with zeros to the most there may be (SigLIP 2)."""
    frames, channels, height, width = pixels.shape
    rows, columns = height // kind.patch, width // kind.patch
    cut = pixels.reshape(frames, channels, rows, kind.patch, columns, kind.patch).permute(0, 2, 4, 3, 5, 1)
    patches = pixels.new_zeros(frames, kind.most, kind.patch**2 * channels)
    patches[:, : rows * columns] = cut.reshape(frames, rows * columns, -1)
    mask = torch.zeros(frames, kind.most, dtype=torch.int32, device=pixels.device)
    mask[:, : rows * columns] = 1
    shapes = torch.tensor([[rows, columns]] * frames, device=pixels.device)
    return {"pixel_values": patches, "pixel_attention_mask": mask, "spatial_shapes": shapes}


def _by(processor: Any, frames: UInt8[np.ndarray, "frames height width 3"]) -> dict[str, Tensor]:
    """The processor's own pixels; CheckpointError where it fails."""
    try:
        made = processor(images=[Image.fromarray(frame) for frame in frames], return_tensors="pt")
        return {
            name: value.flatten(0, 1) if name == "pixel_values" and value.ndim == 5 else value
            for name, value in made.items()
        }
    except Exception as error:  # a processor's faults are of many kinds
        fault = " ".join(str(error).split())[:200]
        raise CheckpointError(f"the model's {type(processor).__name__} prepares no frames ({fault})") from error
