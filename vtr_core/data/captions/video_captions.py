"""All captions of every video of a data set."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.schema import ClipSchema, FrameSchema, ImageSchema, StepSchema, VideoSchema
from vtr_core.errors import SchemaMismatch


@dataclass(frozen=True)
class VideoCaptions:
    """A video and its captions, in the order of the data set."""

    video_id: str
    video_key: int
    captions: tuple[str, ...]


def video_captions(manifest: Manifest) -> Iterator[VideoCaptions]:
    """The videos of a `videos`, `clips` or `frames` data set in file order, with the captions of all their clips.

    Raises SchemaMismatch for another record kind, DamagedShard for a file that cannot be read.
    """
    match manifest.schema:
        case VideoSchema() | FrameSchema():
            return _of_lists(manifest)
        case ClipSchema():
            return _of_clips(manifest)
        case StepSchema():
            raise SchemaMismatch(
                f"{manifest.uri} is {manifest.schema.label()}, its texts name steps; concepts are made from the "
                f"captions of {VideoSchema.label()} or {ClipSchema.label()}: give such a data set"
            )
        case ImageSchema():
            raise SchemaMismatch(
                f"{manifest.uri} is {manifest.schema.label()}, images without captions; concepts are made from the "
                f"captions of {VideoSchema.label()} or {ClipSchema.label()}: give such a data set"
            )


def _of_lists(manifest: Manifest) -> Iterator[VideoCaptions]:
    reader = RowGroupReader(manifest, ["video_id", "video_key", "captions"])
    for place in row_groups(manifest):
        columns = reader.read_arrow(place)
        rows = zip(*(columns[name].to_pylist() for name in reader.columns), strict=True)
        for (video_id, key), clips in groupby(rows, lambda row: row[:2]):
            yield VideoCaptions(video_id, key, tuple(caption for _, _, told in clips for caption in told))


def _of_clips(manifest: Manifest) -> Iterator[VideoCaptions]:
    """Videos of rows of clips; row groups hold whole videos, with adjacent rows."""
    reader = RowGroupReader(manifest, ["video_id", "video_key", "caption"])
    for place in row_groups(manifest):
        columns = reader.read_arrow(place)
        rows = zip(*(columns[name].to_pylist() for name in reader.columns), strict=True)
        for (video_id, key), clips in groupby(rows, lambda row: row[:2]):
            yield VideoCaptions(video_id, key, tuple(caption for _, _, caption in clips))
