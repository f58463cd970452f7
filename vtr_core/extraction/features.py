"""The features of a video from the rows of its chunks, and of a clip, pooled over its span."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Float16, Num, Shaped

from vtr_core.backbones.recipe import Modality
from vtr_core.data.reading.stored_rows import taken_frames
from vtr_core.data.sources.features.feature_arrays import Pool, l2, pool, to_float16, window
from vtr_core.extraction.networks import Chosen, Rows, columns
from vtr_core.unusable import Reason, UnusableError


@dataclass(frozen=True)
class VideoFeatures:
    """The rows of every recipe with non-empty input, by the recipe's position, and the video's duration."""

    by_recipe: dict[int, Float16[np.ndarray, "rows dim"]]
    duration: float
    pictures: dict[int, Shaped[np.ndarray, " _"]] = field(default_factory=dict)
    """Stored pictures by recipe position: bytes, as `pictures.py` encodes them, or None for discarded ones."""


Extracted = VideoFeatures | UnusableError
"""The features of a video, or why it has none."""


def assemble(parts: Iterable[Rows], duration: float, names: Sequence[str], where: str) -> Extracted:
    """All rows of a video in storage format, for each recipe in the order of its chunks; names: the recipes' names."""
    by_recipe: dict[int, list[Rows]] = {}
    for part in parts:
        by_recipe.setdefault(part.recipe, []).append(part)
    features, pictures = {}, {}
    for recipe, chunks in sorted(by_recipe.items()):
        values = np.concatenate([part.values for part in sorted(chunks, key=lambda part: part.chunk)])
        if len(values) and values.dtype == object:
            pictures[recipe] = values
        elif len(values):
            try:
                features[recipe] = to_float16(values, f"{where}, {names[recipe]}")
            except UnusableError as fault:
                return fault.with_traceback(None)
    if not features and not pictures:
        return UnusableError(Reason.NO_SOUND, f"{where} has no sound, and no recipe sees its pictures")
    return VideoFeatures(features, duration, pictures)


@dataclass(frozen=True)
class ClipPooling:
    """How the rows of a clip become one vector.

    Those of a pretrained encoder are never scaled: its head takes their mean as it is.
    """

    pool: Pool = "mean_std"
    normalise: bool = True

    def vector(
        self, chosen: Sequence[Chosen], modality: Modality, video: VideoFeatures, span: tuple[float, float]
    ) -> Float16[np.ndarray, " dim"] | None:
        """The concatenated features of a modality's recipes from `span`, its first and last second; None where the
        video, or the clip, has none.
        """
        start, end = span
        parts: list[Float[np.ndarray, " part"]] = []
        for position in columns(chosen)[modality]:
            rows, rate = video.by_recipe.get(position), chosen[position].recipe.rows_per_second
            if rows is None or (rate is not None and int(start * rate) >= len(rows)):
                return None
            if rate is not None:
                rows = window(rows, start, end, rate)
            vector = pool(rows, self.pool)
            encoder_rows = chosen[position].recipe.fingerprint is not None
            parts.append(l2(vector) if self.normalise and not encoder_rows else vector)
        return to_float16(np.concatenate(parts), modality)


def video_features(chosen: Sequence[Chosen], video: VideoFeatures) -> dict[str, Num[np.ndarray, "rows dim"]]:
    """The features of a whole video by name: all rows of a recipe, or its `most_rows`."""
    names = feature_names(chosen)
    rows_of = {i: evenly_kept(rows, chosen[i].recipe.most_rows) for i, rows in video.by_recipe.items()}
    return {name: rows_of[i] for i, name in names.items() if i in rows_of}


def feature_names(chosen: Sequence[Chosen]) -> dict[int, str]:
    """The features of whole videos by their recipes' positions: the modality where it has one recipe, else its name."""
    return {i: name if len(of) == 1 else chosen[i].recipe.feature for name, of in columns(chosen).items() for i in of}


def evenly_kept(rows: Num[np.ndarray, "rows ..."], most: int | None) -> Num[np.ndarray, "kept ..."]:
    """At most `most` rows, in equal steps from the first to the last."""
    return rows if most is None else rows[list(taken_frames(len(rows), most))]


def extraction_of(source: dict[str, Any]) -> dict[str, Any] | None:
    """What a checkpoint keeps of its training data's `source`, to extract alike; None for other data sets."""
    if source.get("adapter") != "extract" or not source.get("recipes"):
        return None
    return {name: source[name] for name in ("recipes", "pool", "normalise", "records") if name in source}
