"""Key frames of a few clips for a page: a data set's thumbnails, and for other clips pictures of their video files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from vtr_core.data.records.thumbnail import Thumbnail
from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.data.sources.videos.inventory import Inventory
from vtr_core.extraction.pictures import THUMBNAIL_QUALITY, THUMBNAILS_PER_SECOND, encoder
from vtr_core.storage import StorageError
from vtr_core.video.faults import VideoFault
from vtr_core.video.pictures import WholePicture
from vtr_core.video.process import Decoding, DecodingProcess
from vtr_core.video.sampling import Rate
from vtr_core.video.spans import Span
from vtr_core.video.streams import Chunk, PictureStream

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
