"""`images/1` and `frames/1`: pixels of face images and of frames of clips."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import pyarrow as pa

from vtr_core.data.records.record_schema import PIXEL_DTYPE, RecordSchema, require_size
from vtr_core.errors import SchemaMismatch

FrameEncoding = Literal["jpeg", "raw"]
"""Storage format of frames."""
FRAMES = "frames"
"""The column of a clip's frames, and in a batch that of their pixels."""
PIXELS = "pixels"
"""The column of an image's pixels, (height, width, channels) in row-major order."""

IMAGE_COLUMNS = (
    ("image_id", pa.string()),
    ("subject", pa.string()),
    ("clip_key", pa.int64()),
    ("video_key", pa.int64()),
)
"""Columns of every `images` shard beside the pixels. Keys are the 64-bit hashes of image id and subject."""

FRAME_COLUMNS = (
    ("clip_id", pa.string()),
    ("clip_key", pa.int64()),
    ("video_id", pa.string()),
    ("video_key", pa.int64()),
    ("start", pa.float64()),
    ("end", pa.float64()),
    ("captions", pa.list_(pa.field("element", pa.string(), nullable=False))),
    ("caption_keys", pa.list_(pa.field("element", pa.int64(), nullable=False))),
    ("tokens", pa.binary()),
    ("times", pa.list_(pa.field("element", pa.float64(), nullable=False))),
    (FRAMES, pa.list_(pa.field("element", pa.binary(), nullable=False))),
)
"""Columns of every `frames` shard. A cell of tokens is (captions, max_words) int32; times in seconds, one per frame."""


@dataclass(frozen=True)
class ImageSchema(RecordSchema):
    """`images/1`: one row per image; the images of a subject are adjacent. All images have the same shape."""

    kind = "images"
    version = 1

    height: int = 1
    width: int = 1
    channels: int = 1
    """1 is grey, 3 is RGB."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels."""
        return self.height, self.width, self.channels

    def _fields(self) -> list[pa.Field]:
        fields = [pa.field(name, kind, nullable=False) for name, kind in IMAGE_COLUMNS]
        width = self.height * self.width * self.channels * PIXEL_DTYPE.itemsize
        return [*fields, pa.field(PIXELS, pa.binary(width), nullable=False)]

    def to_json(self) -> dict[str, object]:
        """The schema as the manifest and the Parquet metadata hold it."""
        shape = {"height": self.height, "width": self.width, "channels": self.channels}
        return {**super().to_json(), PIXELS: {**shape, "dtype": PIXEL_DTYPE.name}}

    @classmethod
    def from_json(cls, value: dict[str, Any], where: str) -> "ImageSchema":
        """The schema that `to_json` wrote at `where`; SchemaMismatch for another kind, version or dtype."""
        plain, pixels = super().from_json(value, where), value[PIXELS]
        if pixels["dtype"] != PIXEL_DTYPE.name:
            raise SchemaMismatch(f"{where}: pixels are {pixels['dtype']}, this code reads {PIXEL_DTYPE.name}")
        for name in ("height", "width", "channels"):
            require_size(name, pixels[name])
        require_size("an image", pixels["height"] * pixels["width"] * pixels["channels"])
        if pixels["channels"] not in (1, 3):
            raise ValueError(f"images have {pixels['channels']} channels; 1 is grey, 3 is red, green and blue")
        return cls(plain.features, plain.max_words, pixels["height"], pixels["width"], pixels["channels"])


@dataclass(frozen=True)
class FrameSchema(RecordSchema):
    """`frames/1`: one row per clip with all its captions and its frames, RGB, each with its time in the video."""

    kind = "frames"
    version = 1

    height: int = 1
    width: int = 1
    encoding: FrameEncoding = "jpeg"
    """jpeg: a cell is a list of JPEG files; raw: a list of pixel arrays, (height, width, 3) uint8."""

    def _fields(self) -> list[pa.Field]:
        return [pa.field(name, kind, nullable=False) for name, kind in FRAME_COLUMNS]

    def to_json(self) -> dict[str, object]:
        """The schema as the manifest and the Parquet metadata hold it."""
        pictures = {"height": self.height, "width": self.width, "encoding": self.encoding}
        return {**super().to_json(), FRAMES: pictures}

    @classmethod
    def from_json(cls, value: dict[str, Any], where: str) -> "FrameSchema":
        """The schema that `to_json` wrote at `where`; SchemaMismatch for another kind, version or encoding."""
        plain, pictures = super().from_json(value, where), value[FRAMES]
        known: tuple[FrameEncoding, ...] = get_args(FrameEncoding)
        encoding = next((one for one in known if one == pictures["encoding"]), None)
        if encoding is None:
            found = pictures["encoding"]
            raise SchemaMismatch(f"{where}: frames are stored as {found!r}, this code reads {', '.join(known)}")
        for name in ("height", "width"):
            require_size(name, pictures[name])
        require_size("a frame", pictures["height"] * pictures["width"] * 3)
        return cls(plain.features, plain.max_words, pictures["height"], pictures["width"], encoding)
