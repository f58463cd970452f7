"""A row group of whole videos as read: concatenated frames and captions of all its videos."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from vtr_core.data.records.binary_columns import Sequences, as_sequences
from vtr_core.data.records.schema import CAPTION_VECTORS, FEATURE_DTYPE, TOKEN_DTYPE, VideoSchema
from vtr_core.errors import DatasetError


@dataclass(frozen=True)
class StoredVideos:
    """Frames and captions of a row group, as views of the columns' buffers."""

    frames: dict[str, Sequences]
    caption_vectors: Sequences | None
    """Vectors of all captions, in the order of `tokens`; None if not read."""
    tokens: Sequences
    """(captions, max_words) of all videos, and the number of captions of each."""
    first_caption: Int64[np.ndarray, " rows"]
    """The position of each video's first caption."""
    caption_key: Int64[np.ndarray, " captions"]
    video_key: Int64[np.ndarray, " rows"]


def stored_videos(columns: Mapping[str, pa.Array], schema: VideoSchema) -> StoredVideos:
    """The row group from its columns: `tokens`, keys, and some of the schema's features.

    Raises DatasetError where cells do not conform to the schema.
    """
    tokens = as_sequences(columns["tokens"], schema.max_words, TOKEN_DTYPE)
    keys = columns["caption_keys"]
    if not np.array_equal(tokens.counts, keys.value_lengths().to_numpy()):
        raise DatasetError(
            f"videos have another number of keys than captions of {schema.max_words} words; rebuild the data set"
        )
    frames = {f.name: as_sequences(columns[f.name], f.dim, FEATURE_DTYPE) for f in schema.features if f.name in columns}
    vectors = frames.pop(CAPTION_VECTORS, None)
    if vectors is not None and not np.array_equal(vectors.counts, tokens.counts):
        raise DatasetError(
            f"videos have another number of vectors of {CAPTION_VECTORS} than captions; rebuild the data set"
        )
    return StoredVideos(
        frames=frames,
        caption_vectors=vectors,
        tokens=tokens,
        first_caption=np.cumsum(tokens.counts) - tokens.counts,
        caption_key=keys.flatten().to_numpy(),
        video_key=columns["video_key"].to_numpy(),
    )
