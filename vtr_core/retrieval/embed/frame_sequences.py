"""Conversion of tables of frame vector sequences, as sent by MLflow clients, to model inputs."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float16

from vtr_core.data.records.binary_columns import Sequences
from vtr_core.data.records.frames import PaddedFrames, pad
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
    cells = [_cell(value, f"row {label!r}, column {feature}", dim) for label, value in table[feature].items()]
    vectors = np.concatenate(cells) if cells else np.zeros((0, dim), FEATURE_DTYPE)
    counts = np.array([len(cell) for cell in cells], np.int64)
    return pad(Sequences(vectors, counts), np.arange(len(cells)), max_frames)


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
