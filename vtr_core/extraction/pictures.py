"""Stored pictures of videos: thumbnails, training frames, and key frames of a few clips for a page."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from jaxtyping import Float, Shaped, UInt8
from PIL import Image

from vtr_core.backbones.recipe import Extractor, Recipe
from vtr_core.data.records.schema import FrameEncoding
from vtr_core.data.shards.thumbnails import Thumbnail, Thumbnails
from vtr_core.data.sources.video_files import Inventory
from vtr_core.errors import ConfigError
from vtr_core.extraction.networks import Chosen
from vtr_core.storage import StorageError
from vtr_core.video.decoders import Decoder, VideoFault
from vtr_core.video.process import Decoding, DecodingProcess
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
    encoding: FrameEncoding = "jpeg"
    quality: int = 90
    decoder: Decoder = "pyav"

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
        keep = encoder(self.quality) if self.encoding == "jpeg" else _pixels
        return _kept("frames", stream, self.per_second, keep, self.decoder)


def thumbnails(long_side: int) -> Chosen:
    """The recipe of thumbnails, small whole frames as JPEGs; ConfigError for an invalid size."""
    check_side("--thumbnail-size", long_side)
    stream = PictureStream(WholePicture(long_side), Rate(THUMBNAILS_PER_SECOND))
    return _kept("thumbnails", stream, THUMBNAILS_PER_SECOND, encoder(THUMBNAIL_QUALITY))


def times(count: int, per_second: float) -> Float[np.ndarray, " rows"]:
    """Times of pictures sampled at a rate, in seconds: the middle of each interval."""
    return (np.arange(count) + 0.5) / per_second


def check_side(flag: str, pixels: int) -> None:
    """ConfigError for pictures too small or too large."""
    if not 8 <= pixels <= LARGEST_SIDE:
        raise ConfigError(f"{flag} is {pixels}; it must be from 8 to {LARGEST_SIDE} pixels")


def encoder(quality: int) -> Callable[[UInt8[np.ndarray, "rows height width 3"]], Shaped[np.ndarray, " rows"]]:
    """The function that encodes pictures as JPEGs, an object array of bytes."""
    return partial(_jpegs, quality)


def _jpegs(quality: int, pictures: UInt8[np.ndarray, "rows height width 3"]) -> Shaped[np.ndarray, " rows"]:
    found = np.empty(len(pictures), object)
    for place, pixels in enumerate(pictures):
        content = io.BytesIO()
        Image.fromarray(pixels).save(content, "JPEG", quality=quality)
        found[place] = content.getvalue()
    return found


def _pixels(pictures: UInt8[np.ndarray, "rows height width 3"]) -> Shaped[np.ndarray, " rows"]:
    found = np.empty(len(pictures), object)
    found[:] = [pixels.tobytes() for pixels in pictures]
    return found


def _kept(
    name: str,
    stream: PictureStream,
    per_second: float,
    keep: Callable[..., np.ndarray],
    decoder: Decoder = "pyav",
) -> Chosen:
    recipe = Recipe(
        name=name,
        modality="video",
        network="none",
        follows="",
        stream=stream,
        dim=0,
        rows_per_second=per_second,
        weights=None,
        load=partial(_load, keep),
    )
    return Chosen(recipe, None, None, decoder)


def _load(keep: Callable[..., np.ndarray], _weights: str | None, _device: str) -> Extractor:
    return keep


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
    decoding: Decoding = field(default_factory=Decoding)

    def find(self, ids: Iterable[str]) -> Mapping[str, Thumbnail]:
        """The frames there are. A file that is missing, damaged or shorter than the clip gives none."""
        wanted = list(ids)
        found = self.thumbnails.find(wanted)
        if self.videos is None:
            return found
        lacking = [span for span in self.spans if span.item_id in wanted and span.item_id not in found]
        cut = decoded(self.videos, {span.item_id: span for span in lacking}.values(), self.decoding)
        return {**found, **{frame.item_id: frame for frame in cut}}


def decoded(videos: Inventory, spans: Iterable[ClipSpan], decoding: Decoding) -> Iterator[Thumbnail]:
    """The picture at the middle of every clip whose video is among the files, decoded in a process of its own."""
    with DecodingProcess(decoding) as process:
        for clip in spans:
            picture = _picture(process, videos.by_id(clip.video_id), clip) if clip.video_id in videos else None
            if picture is not None:
                (jpeg,) = encoder(THUMBNAIL_QUALITY)(picture)
                yield Thumbnail(clip.item_id, clip.start, clip.end, jpeg)


def _picture(process: DecodingProcess, uri: str, clip: ClipSpan) -> np.ndarray | None:
    """One picture (1, height, width, 3); None where the file has none."""
    place = int((clip.start + clip.end) / 2 * THUMBNAILS_PER_SECOND)
    span = Span((0,), place / THUMBNAILS_PER_SECOND, (place + 1) / THUMBNAILS_PER_SECOND)
    try:
        parts = list(process.decode(uri, [_STREAM], span))
    except (VideoFault, StorageError):
        return None
    return next((part.values for part in parts if isinstance(part, Chunk)), None)
