"""Conversion of tables of frame vector sequences, as sent by MLflow clients, to model inputs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Float16
from torch import Tensor

from vtr_core.data.reading.frames import MAX_VIDEOS
from vtr_core.data.records.binary_columns import Sequences
from vtr_core.data.records.frames import PaddedFrames, means, pad
from vtr_core.data.records.schema import FEATURE_DTYPE
from vtr_core.errors import InputError
from vtr_core.retrieval.embed.frame import is_missing


def frames_of(table: pd.DataFrame, feature: str, dim: int, max_frames: int) -> PaddedFrames:
    """The videos of a table whose only column is `feature`: lists of frame vectors, None for no frames.

    Videos are cut to their first `max_frames` frames, and vectors become float16, as in data sets. Raises InputError
    for other columns and for values of another type or size.
    """
    given = [str(name) for name in table.columns]
    if given != [feature]:
        raise InputError(
            f"the table has the columns {', '.join(given) or '(none)'}; the model describes videos: give the column "
            f"{feature} alone, of each video a list of vectors of {dim} values, one for each frame"
        )
    found = _sequences(((f"row {label!r}, column {feature}", value) for label, value in table[feature].items()), dim)
    return pad(found, np.arange(len(found.counts)), max_frames)


@dataclass(frozen=True)
class GivenFrames:
    """Some videos' frames of a feature, padded and masked as data sets' are."""

    frames: Float[Tensor, "videos frames dim"]
    mask: Bool[Tensor, "videos frames"]
    mean: Float[Tensor, "videos dim"]
    """Of all frames, also of those that were cut."""


def given_frames(
    videos: Mapping[str, Sequence[Any]],
    feature: str,
    dim: int,
    max_frames: int,
    max_videos: int = MAX_VIDEOS,
) -> Iterator[GivenFrames]:
    """The videos of `feature`, at most `max_videos` together, as evaluation takes them; at least one, empty, piece.

    videos: of each feature, which must be `feature` alone, an array (frames, dim), or None, for each video. InputError
    for other features and for arrays of another shape.
    """
    if list(videos) != [feature]:
        raise InputError(f"features {', '.join(videos) or '(none)'} were given; the model encodes {feature} alone")
    places = ((f"video {row}, feature {feature}", value) for row, value in enumerate(videos[feature]))
    found = _sequences(places, dim)
    for first in range(0, max(1, len(found.counts)), max_videos):
        rows = np.arange(first, min(first + max_videos, len(found.counts)))
        padded = pad(found, rows, max_frames)
        yield GivenFrames(
            torch.from_numpy(padded.values), torch.from_numpy(padded.mask), torch.from_numpy(means(found, rows))
        )


def _sequences(places: Iterable[tuple[str, Any]], dim: int) -> Sequences:
    """The frames of all cells, each given with its place for messages."""
    cells = [_cell(value, place, dim) for place, value in places]
    vectors = np.concatenate(cells) if cells else np.zeros((0, dim), FEATURE_DTYPE)
    return Sequences(vectors, np.array([len(cell) for cell in cells], np.int64))


def _cell(value: Any, place: str, dim: int) -> Float16[np.ndarray, "frames dim"]:
    if is_missing(value):
        return np.zeros((0, dim), FEATURE_DTYPE)
    try:
        with np.errstate(over="ignore"):
            frames = np.asarray([np.asarray(frame, np.float64) for frame in value]).astype(FEATURE_DTYPE)
    except (TypeError, ValueError) as error:
        raise InputError(f"{place} is no sequence of vectors of {dim} numbers each ({error})") from error
    if not len(frames):
        return np.zeros((0, dim), FEATURE_DTYPE)
    if frames.ndim != 2 or frames.shape[1] != dim:
        raise InputError(
            f"{place} has the shape {frames.shape}; the model takes frames of {dim} values: give (frames, {dim})"
        )
    if not np.isfinite(frames).all():
        raise InputError(f"{place} has a value that is not finite in float16, in which features are kept")
    return np.asarray(frames)
