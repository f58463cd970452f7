"""The features of one video, concatenated from the rows of its chunks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float16, Shaped

from vtr_core.data.sources.features.pooling import to_float16
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.extraction.networks import Rows
from vtr_core.video.faults import VideoFault


@dataclass(frozen=True)
class VideoFeatures:
    """The rows of every recipe with non-empty input, by the recipe's position, and the video's duration."""

    by_recipe: dict[int, Float16[np.ndarray, "rows dim"]]
    duration: float
    pictures: dict[int, Shaped[np.ndarray, " _"]] = field(default_factory=dict)
    """Stored pictures by recipe position: bytes, as `pictures.py` encodes them, or None for discarded ones."""


@dataclass(frozen=True)
class Unusable:
    """Why a video has no features; a value, since exceptions with arguments of their own do not pickle well."""

    reason: Reason
    what: str

    def error(self) -> UnusableError:
        """The exception that a source raises for this video."""
        return UnusableError(self.reason, self.what)


Extracted = VideoFeatures | Unusable


def unusable(fault: VideoFault) -> Unusable:
    """The fault of a video file as a reason for dropping it."""
    return Unusable(Reason(fault.fault.value), fault.what)


def assemble(parts: Iterable[Rows], duration: float, names: Sequence[str], where: str) -> Extracted:
    """All rows of a video in storage format, for each recipe in the order of its chunks; names: the recipes' names."""
    by_recipe: dict[int, list[Rows]] = {}
    for part in parts:
        by_recipe.setdefault(part.recipe, []).append(part)
    found, pictures = {}, {}
    for recipe, chunks in sorted(by_recipe.items()):
        values = np.concatenate([part.values for part in sorted(chunks, key=lambda part: part.chunk)])
        if len(values) and values.dtype == object:
            pictures[recipe] = values
        elif len(values):
            try:
                found[recipe] = to_float16(values, f"{where}, {names[recipe]}")
            except UnusableError as fault:
                return Unusable(fault.reason, str(fault))
    if not found and not pictures:
        return Unusable(Reason.NO_SOUND, f"{where} has no sound, and no recipe sees its pictures")
    return VideoFeatures(found, duration, pictures)
