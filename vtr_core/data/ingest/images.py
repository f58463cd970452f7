"""Shards of `images`: one row per image; the images of a subject are adjacent."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from vtr_core.data.records.binary_columns import fixed_size_binary
from vtr_core.data.records.schema import PIXELS, ImageSchema
from vtr_core.data.shards.writing import GroupSize, GroupTable, row_groups
from vtr_core.data.sources.source import FaceImage, ImageSource, VideoEntry
from vtr_core.fingerprint import key64


@dataclass(frozen=True)
class SubjectImages:
    """All images of one subject, at least one."""

    subject: str
    images: Sequence[FaceImage]


def image_groups(source: ImageSource, schema: ImageSchema, subjects: Iterable[VideoEntry]) -> Iterator[GroupTable]:
    """The row groups of the images of `subjects`."""
    read = (SubjectImages(subject.video_id, list(source.images(subject))) for subject in subjects)
    size = schema.height * schema.width * schema.channels
    for group in row_groups(read, lambda one: GroupSize(len(one.images), len(one.images) * size)):
        yield GroupTable(_table(group, schema), tuple(len(one.images) for one in group))


def _table(group: Sequence[SubjectImages], schema: ImageSchema) -> pa.Table:
    images = [image for one in group for image in one.images]
    subjects = [one.subject for one in group for _ in one.images]
    columns: dict[str, pa.Array | Sequence[object]] = {
        "image_id": [image.image_id for image in images],
        "subject": subjects,
        "clip_key": [key64(image.image_id) for image in images],
        "video_key": [key64(subject) for subject in subjects],
        PIXELS: fixed_size_binary(np.stack([image.pixels.reshape(-1) for image in images])),
    }
    return pa.table(columns, schema=schema.arrow())
