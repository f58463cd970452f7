"""Conversion of pandas DataFrames to model inputs, and of embeddings to DataFrames."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float16

from vtr_core.data.records.schema import FEATURE_DTYPE
from vtr_core.data.stream.assemble import Columns
from vtr_core.errors import InputError
from vtr_core.nn.embeddings import TEXT
from vtr_core.retrieval.embed.clips import EmbeddedRows, caption_columns
from vtr_core.text.tokens.vocabulary import Vocabulary

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
    found = {name: _cells(rows, name) for name, column in names.items() if column in frame.columns}
    return pd.DataFrame(found, index=frame.index, dtype=object)


def captions_of(frame: pd.DataFrame) -> list[str]:
    """The texts of a table with the column `caption` alone, "" for missing ones; InputError for other columns."""
    given = [str(name) for name in frame.columns]
    if given != [CAPTION]:
        raise InputError(
            f"the table has the columns {', '.join(given) or '(none)'}; a model of whole videos embeds texts: give the "
            f"column {CAPTION} alone (whole videos are embedded by vtr index)"
        )
    return [_caption(value, place) for place, value in _places(frame, CAPTION)]


def is_missing(value: Any) -> bool:
    """Whether a cell is None, NA or NaN."""
    return value is None or value is pd.NA or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _check_names(frame: pd.DataFrame, features: Mapping[str, int]) -> None:
    known = [CAPTION, *features]
    given = [str(name) for name in frame.columns]
    unknown = [name for name in given if name not in known]
    if unknown or not given or len(set(given)) != len(given):
        raise InputError(
            f"the table has the columns {', '.join(given) or '(none)'}; the model embeds a column {CAPTION} of texts "
            f"and vectors in the columns {_with_dims(features)}: give one or more of these, each once"
        )


def _with_dims(features: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({dim} values)" for name, dim in features.items())


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
        with np.errstate(over="ignore"):
            vector = np.asarray(value, np.float64).astype(FEATURE_DTYPE)
    except (TypeError, ValueError) as error:
        raise InputError(f"{place} is no vector of numbers ({error}); give a list or an array of {dim}") from error
    if vector.shape != (dim,):
        raise InputError(f"{place} has the shape {vector.shape}, the model was trained on vectors of {dim} values")
    if not np.isfinite(vector).all():
        raise InputError(f"{place} has a value that is not finite in float16, in which features are kept")
    return cast(np.ndarray, vector)


def _cells(rows: EmbeddedRows, name: str) -> list[Any]:
    pairs = zip(rows.vectors[name], rows.present[name], strict=True)
    return [vector if present else None for vector, present in pairs]
