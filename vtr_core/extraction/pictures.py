"""Stored pictures of videos: thumbnails, training frames, and key frames of a few clips for a page."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Shaped, UInt8
from PIL import Image

from vtr_core.backbones.recipe import Extractor, Recipe
from vtr_core.data.shards.thumbnails import Thumbnail, Thumbnails
from vtr_core.data.sources.video_files import Inventory
from vtr_core.errors import ConfigError
from vtr_core.extraction.networks import Chosen
from vtr_core.storage import StorageError
from vtr_core.unusable import UnusableError
from vtr_core.video.process import DecodingProcess, Limits
from vtr_core.video.streams import Chunk, Picture, PictureStream, Rate, Span, WholePicture

THUMBNAILS_PER_SECOND = 2.0
"""Rate of candidate pictures; a span's thumbnail is the one nearest to its middle."""
THUMBNAIL_QUALITY = 80
LARGEST_SIDE = 4096


@dataclass(frozen=True)
class FrameSettings:
    """Settings of a clip's stored frames: square centre crops at a rate."""

    size: int = 224
    per_second: float = 1.0
    most: int | None = None
    """Greatest number of frames of a clip, in equal steps from the first to the last; None keeps all."""
    quality: int = 90

    def __post_init__(self) -> None:
        check_side("--frame-size", self.size)
        if not 0 < self.per_second <= 1000:
            raise ConfigError(f"--frame-rate is {self.per_second:g}; it must be above 0, and 1000 a second at most")
        if self.most is not None and self.most < 1:
            raise ConfigError(f"--frames is {self.most}; it must be 1 or more")
        if not 1 <= self.quality <= 100:
            raise ConfigError(f"--frame-quality is {self.quality}; it must be from 1 to 100")

    @property
    def chosen(self) -> Chosen:
        """The recipe that decodes and encodes these frames."""
        stream = PictureStream(Picture(self.size, self.size), Rate(self.per_second))
        return _stored("frames", stream, self.per_second, self.quality)


def thumbnails(long_side: int) -> Chosen:
    """The recipe of thumbnails, small whole frames as JPEGs; ConfigError for an invalid size."""
    check_side("--thumbnail-size", long_side)
    stream = PictureStream(WholePicture(long_side), Rate(THUMBNAILS_PER_SECOND))
    return _stored("thumbnails", stream, THUMBNAILS_PER_SECOND, THUMBNAIL_QUALITY)


def times(count: int, per_second: float) -> Float[np.ndarray, " rows"]:
    """Times of pictures sampled at a rate, in seconds: the middle of each interval."""
    return (np.arange(count) + 0.5) / per_second


def check_side(flag: str, pixels: int) -> None:
    """ConfigError for pictures too small or too large."""
    if not 8 <= pixels <= LARGEST_SIDE:
        raise ConfigError(f"{flag} is {pixels}; it must be from 8 to {LARGEST_SIDE} pixels")


def jpegs(pictures: UInt8[np.ndarray, "rows height width 3"], quality: int) -> Shaped[np.ndarray, " rows"]:
    """The pictures as JPEG files, an object array of bytes."""
    files = np.empty(len(pictures), object)
    for place, pixels in enumerate(pictures):
        content = io.BytesIO()
        Image.fromarray(pixels).save(content, "JPEG", quality=quality)
        files[place] = content.getvalue()
    return files


def _stored(name: str, stream: PictureStream, per_second: float, quality: int) -> Chosen:
    """The recipe that stores a stream's pictures as JPEGs."""
    recipe = Recipe(
        name=name,
        modality="video",
        network="none",
        follows="",
        stream=stream,
        dim=0,
        rows_per_second=per_second,
        weights=None,
        load=partial(_load, quality),
    )
    return Chosen(recipe, None, None)


def _load(quality: int, _weights: str | None, _device: str) -> Extractor:
    return partial(jpegs, quality=quality)


LONG_SIDE = 320
_STREAM = PictureStream(WholePicture(LONG_SIDE), Rate(THUMBNAILS_PER_SECOND), chunk=1)


@dataclass(frozen=True)
class ClipSpan:
    """A clip of a video, in seconds."""

    item_id: str
    video_id: str
    start: float
    end: float


@dataclass(frozen=True)
class ClipFrames:
    """The key frames of a data set's items, by their ids."""

    thumbnails: Thumbnails
    videos: Inventory | None = None
    """Video files, each named by its video's id; None for none."""
    spans: Sequence[ClipSpan] = ()
    """The items that may be cut out of them."""

    def find(self, ids: Iterable[str]) -> Mapping[str, Thumbnail]:
        """The frames there are. A file that is missing, damaged or shorter than the clip gives none."""
        items = list(ids)
        stored = self.thumbnails.find(items)
        if self.videos is None:
            return stored
        lacking = {span.item_id: span for span in self.spans if span.item_id in items and span.item_id not in stored}
        return {**stored, **{frame.item_id: frame for frame in decoded(self.videos, lacking.values())}}


def decoded(videos: Inventory, spans: Iterable[ClipSpan]) -> Iterator[Thumbnail]:
    """The picture at the middle of every clip whose video is among the files, decoded in a process of its own."""
    with DecodingProcess(Limits()) as process:
        for clip in spans:
            picture = _picture(process, videos.by_id(clip.video_id), clip) if clip.video_id in videos else None
            if picture is not None:
                (jpeg,) = jpegs(picture, THUMBNAIL_QUALITY)
                yield Thumbnail(clip.item_id, clip.start, clip.end, jpeg)


def _picture(process: DecodingProcess, uri: str, clip: ClipSpan) -> np.ndarray | None:
    """One picture (1, height, width, 3); None where the file has none."""
    place = int((clip.start + clip.end) / 2 * THUMBNAILS_PER_SECOND)
    span = Span(place / THUMBNAILS_PER_SECOND, (place + 1) / THUMBNAILS_PER_SECOND)
    try:
        parts = list(process.decode(uri, [_STREAM], span))
    except (UnusableError, StorageError):
        return None
    return next((part.values for part in parts if isinstance(part, Chunk)), None)
