"""Conversion of pandas DataFrames, also with sequences of frame vectors, to model inputs and back."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Float16, Float64
from torch import Tensor

from vtr_core.data.reading.evaluated_rows import MAX_VIDEOS
from vtr_core.data.records.arrays import PaddedFrames, Sequences, means, pad
from vtr_core.data.records.schema import FEATURE_DTYPE
from vtr_core.data.sources.features.feature_arrays import to_float16
from vtr_core.data.stream.assemble import Columns
from vtr_core.embedding.embedded_rows import EmbeddedRows, caption_columns
from vtr_core.errors import InputError
from vtr_core.nn.embeddings import TEXT
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.unusable import UnusableError

CAPTION = "caption"
"""The column of texts; the others are named after the features."""


def columns_of(frame: pd.DataFrame, features: Mapping[str, int], vocabulary: Vocabulary, max_words: int) -> Columns:
    """The rows of `frame` as the columns of a batch.

    frame: a column `caption` of texts, or columns named after some of the `features` (name to dimension) with one
    vector per row, a list or an array of that dimension; or both. A missing column, None or NaN is an absent value.
    Vectors become float16, as in data sets. Raises InputError for unknown columns and values of another type or size.
    """
    _check_names(frame, features)
    captions = [_caption(value, place) for place, value in _places(frame, CAPTION)] or [""] * len(frame)
    columns = caption_columns(vocabulary, captions, max_words)
    for name, dim in features.items():
        if name in frame.columns:
            columns[name], columns[f"has_{name}"] = _vectors(_places(frame, name), len(frame), dim)
    return columns


def embeddings_frame(rows: EmbeddedRows, frame: pd.DataFrame) -> pd.DataFrame:
    """The embeddings of the rows of `frame`, under its index.

    A column `text` where there are captions, and one named after each feature; values are float32 arrays (dim,), or
    None where the row lacks the modality (also for a caption without a known word).
    """
    names = {TEXT: CAPTION, **{name: name for name in rows.vectors if name != TEXT}}
    cells = {name: _cells(rows, name) for name, column in names.items() if column in frame.columns}
    return pd.DataFrame(cells, index=frame.index, dtype=object)


def captions_of(frame: pd.DataFrame) -> list[str]:
    """The texts of a table with the column `caption` alone, "" for missing ones; InputError for other columns."""
    columns = [str(name) for name in frame.columns]
    if columns != [CAPTION]:
        raise InputError(
            f"the table has the columns {', '.join(columns) or '(none)'}; a model of whole videos embeds texts: give "
            f"the column {CAPTION} alone (whole videos are embedded by vtr index)"
        )
    return [_caption(value, place) for place, value in _places(frame, CAPTION)]


def is_missing(value: Any) -> bool:
    """Whether a cell is None, NA or NaN."""
    return value is None or value is pd.NA or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _check_names(frame: pd.DataFrame, features: Mapping[str, int]) -> None:
    known = [CAPTION, *features]
    columns = [str(name) for name in frame.columns]
    if not columns or len(set(columns)) != len(columns) or any(name not in known for name in columns):
        sizes = ", ".join(f"{name} ({dim} values)" for name, dim in features.items())
        raise InputError(
            f"the table has the columns {', '.join(columns) or '(none)'}; the model embeds a column {CAPTION} of texts "
            f"and vectors in the columns {sizes}: give one or more of these, each once"
        )


def _places(frame: pd.DataFrame, name: str) -> list[tuple[str, Any]]:
    """The values of a column, each with its position for messages; empty where there is no such column."""
    if name not in frame.columns:
        return []
    return [(f"row {label!r}, column {name}", value) for label, value in frame[name].items()]


def _caption(value: Any, place: str) -> str:
    if is_missing(value):
        return ""
    if not isinstance(value, str):
        raise InputError(f"{place}: {type(value).__name__} is no text; give a caption, or None for none")
    return value


def _vectors(
    places: Sequence[tuple[str, Any]], count: int, dim: int
) -> tuple[Float16[np.ndarray, "rows dim"], Bool[np.ndarray, " rows"]]:
    values, present = np.zeros((count, dim), FEATURE_DTYPE), np.zeros(count, np.bool_)
    for row, (place, value) in enumerate(places):
        if not is_missing(value):
            values[row], present[row] = _vector(value, place, dim), True
    return values, present


def _vector(value: Any, place: str, dim: int) -> Float16[np.ndarray, " dim"]:
    try:
        vector = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{place} is no vector of numbers ({error}); give a list or an array of {dim}") from error
    if vector.shape != (dim,):
        raise InputError(f"{place} has the shape {vector.shape}, the model was trained on vectors of {dim} values")
    return _stored(vector, place)


def _stored(values: Float64[np.ndarray, "*shape"], place: str) -> Float16[np.ndarray, "*shape"]:
    try:
        return to_float16(values, place)
    except UnusableError as fault:
        raise InputError(str(fault)) from fault


def _cells(rows: EmbeddedRows, name: str) -> list[Any]:
    pairs = zip(rows.vectors[name], rows.present[name], strict=True)
    return [vector if present else None for vector, present in pairs]


def frames_of(table: pd.DataFrame, feature: str, dim: int, max_frames: int) -> PaddedFrames:
    """The videos of a table whose only column is `feature`: lists of frame vectors, None for no frames.

    Videos are cut to their first `max_frames` frames, and vectors become float16, as in data sets. Raises InputError
    for other columns and for values of another type or size.
    """
    columns = [str(name) for name in table.columns]
    if columns != [feature]:
        raise InputError(
            f"the table has the columns {', '.join(columns) or '(none)'}; the model describes videos: give the column "
            f"{feature} alone, of each video a list of vectors of {dim} values, one for each frame"
        )
    videos = _sequences(((f"row {label!r}, column {feature}", value) for label, value in table[feature].items()), dim)
    return pad(videos, np.arange(len(videos.counts)), max_frames)


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
    sequences = _sequences(places, dim)
    for first in range(0, max(1, len(sequences.counts)), max_videos):
        rows = np.arange(first, min(first + max_videos, len(sequences.counts)))
        padded = pad(sequences, rows, max_frames)
        yield GivenFrames(
            torch.from_numpy(padded.values), torch.from_numpy(padded.mask), torch.from_numpy(means(sequences, rows))
        )


def _sequences(places: Iterable[tuple[str, Any]], dim: int) -> Sequences:
    """The frames of all cells, each given with its place for messages."""
    cells = [_cell(value, place, dim) for place, value in places]
    vectors = np.concatenate(cells) if cells else np.zeros((0, dim), FEATURE_DTYPE)
    return Sequences(vectors, np.array([len(cell) for cell in cells], np.int64))


def _cell(value: Any, place: str, dim: int) -> Float16[np.ndarray, "frames dim"]:
    try:
        frames = np.asarray([] if is_missing(value) else [np.asarray(frame, np.float64) for frame in value])
    except (TypeError, ValueError) as error:
        raise InputError(f"{place} is no sequence of vectors of {dim} numbers each ({error})") from error
    if not len(frames):
        return np.zeros((0, dim), FEATURE_DTYPE)
    if frames.ndim != 2 or frames.shape[1] != dim:
        raise InputError(
            f"{place} has the shape {frames.shape}; the model takes frames of {dim} values: give (frames, {dim})"
        )
    return _stored(frames, place)
