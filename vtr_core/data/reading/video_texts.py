"""The ids and captions of a `videos` data set, without its frames."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int64

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.required_kind import require_videos

_COLUMNS = ["video_id", "video_key", "captions", "caption_keys"]


@dataclass(frozen=True)
class VideoTexts:
    """All videos in file order, and their captions, video by video."""

    video_id: tuple[str, ...]
    video_key: Int64[np.ndarray, " videos"]
    captions: tuple[str, ...]
    caption_key: Int64[np.ndarray, " captions"]
    caption_video: Int64[np.ndarray, " captions"]
    """The index of each caption's video."""


def video_texts(manifest: Manifest) -> VideoTexts:
    """The texts of a data set. Raises DamagedShard, and SchemaMismatch for data sets of other kinds."""
    require_videos(manifest.schema, manifest.uri)
    reader = RowGroupReader(manifest, _COLUMNS)
    table = pa.concat_tables(pa.table(reader.read_arrow(place)) for place in row_groups(manifest))
    counts = pc.list_value_length(table["captions"]).to_numpy()
    return VideoTexts(
        video_id=tuple(table["video_id"].to_pylist()),
        video_key=table["video_key"].to_numpy(),
        captions=tuple(pc.list_flatten(table["captions"]).to_pylist()),
        caption_key=pc.list_flatten(table["caption_keys"]).to_numpy(),
        caption_video=np.repeat(np.arange(len(counts), dtype=np.int64), counts),
    )
