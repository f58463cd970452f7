"""One pass over a video file from any storage: the pictures and sound of all requested streams."""

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Generic, TypeVar

import av.error
import pyarrow as pa
from av import AudioFrame, Packet, VideoFrame
from av.container import InputContainer
from av.stream import Discard, Disposition
from av.video.stream import VideoStream

from vtr_core.errors import VtrError
from vtr_core.storage import Location, StorageError, locate
from vtr_core.unusable import Reason, UnusableError
from vtr_core.video.chunks import MAX_LEAP_S, PictureChunks, SoundChunks
from vtr_core.video.streams import (
    MARGIN_S,
    Chunk,
    End,
    PictureStream,
    SoundStream,
    Span,
    Stream,
    Uniform,
)

T = TypeVar("T")
DEPTH = 4
"""Frames in the reordering buffer, the largest reordering in formats without presentation times."""


class OrderedTimes(Generic[T]):
    """Assigns to frames, which arrive in presentation order, the smallest unassigned time.

    AVI stores decoding times only, which are out of order with MPEG-4's bidirectional frames.
    """

    def __init__(self) -> None:
        self._frames: deque[T] = deque()
        self._times: list[float] = []

    def add(self, frame: T, time: float) -> Iterator[tuple[T, float]]:
        """Add `frame`; yields the frames that leave the buffer, each with its time."""
        self._frames.append(frame)
        heapq.heappush(self._times, time)
        while len(self._frames) > DEPTH:
            yield self._next()

    def rest(self) -> Iterator[tuple[T, float]]:
        """The frames left in the buffer at the end."""
        while self._frames:
            yield self._next()

    def _next(self) -> tuple[T, float]:
        return self._frames.popleft(), heapq.heappop(self._times)


FORMATS = (
    *("mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "avi", "mpegts", "mpeg", "mpegvideo", "flv", "asf", "ogg", "gif"),
    *("mxf", "nut", "dv", "ivf", "rm", "wtv", "yuv4mpegpipe", "h264", "hevc", "obu"),
)
"""FFmpeg's names of the accepted formats. Playlists (HLS, DASH, concat) are excluded: they can open any file or URL."""

_AWAY = ("cannot be reached", "goes on failing")
DECODER_FAULTS = (av.error.FFmpegError, ValueError, OverflowError, ArithmeticError, EOFError, OSError)
"""The exceptions of PyAV for content that cannot be decoded."""


def located(uri: str) -> Location:
    """The location of a video's URI; UnusableError for an unsupported scheme or a malformed URI."""
    try:
        return locate(uri)
    except VtrError as error:
        raise UnusableError(Reason.UNREADABLE_FILE, str(error)) from error


@contextmanager
def opened(location: Location) -> Iterator[InputContainer]:
    """The file's container; UnusableError where the file is missing, unreadable or no video.

    An unreachable or overloaded store is no fault of the file and remains a StorageError.

    The format is detected from the content, never from the name. Bytes are read through `location`'s file system, so
    that neither name nor content can make the decoder open anything else.
    """
    try:
        source = location.open_file()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnusableError(Reason.MISSING_FILE, f"there is no file {location}") from error
    except (OSError, StorageError) as error:
        if _is_of_the_store(error):
            raise
        raise UnusableError(Reason.UNREADABLE_FILE, f"{location} cannot be read ({error})") from error
    with source, _container(source, location) as container:
        yield container


def _is_of_the_store(error: OSError | StorageError) -> bool:
    """Whether the error is the store's, so that a retry may succeed; recognised by its message alone."""
    return isinstance(error, StorageError) and any(words in str(error) for words in _AWAY)


def _container(source: pa.NativeFile, location: Location) -> InputContainer:
    if source.size() == 0:
        raise UnusableError(Reason.NOT_A_VIDEO, f"{location} is empty; give a video file")
    try:
        options = {"format_whitelist": ",".join(FORMATS)}
        return av.open(source, mode="r", options=options, metadata_errors="replace")
    except DECODER_FAULTS as error:
        message = f"{location} is no video of a format that is read ({ffmpeg_message(error)})"
        raise UnusableError(Reason.NOT_A_VIDEO, message) from error


def ffmpeg_message(error: Exception) -> str:
    """What is wrong in FFmpeg's words, without the number and the stream's name that PyAV writes around them."""
    return (isinstance(error, av.error.FFmpegError) and error.strerror) or str(error)


_SHORTEST = 0.9
"""A file that ends before this share of its stated duration is truncated (a second less is always allowed)."""
_USUAL_FRAME_S = 0.04
_ESTIMATED = "avi"
"""The format whose duration FFmpeg takes from the size of the file, so that a shortened file states a shorter one."""
_PRESENTED = ("mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm")
"""Formats with the presentation time of every frame, which allow seeking; others are decoded from the start."""


class _NotEnteredError(Exception):
    """Frames decoded after seeking may differ from those of a pass from the beginning."""


def decode(location: Location, streams: Sequence[Stream], span: Span | None = None) -> Iterator[Chunk | End]:
    """The chunks of `streams`, in order within each, and an End. Sound streams of a silent video file are empty.

    Times in seconds are relative to the beginning of the container's content, as in players. UnusableError where the
    file cannot be opened or decoded to its end, or ends much earlier than its container states; this invalidates the
    chunks before it.

    With `span` only its chunks of the streams, all of pictures, which equal those of a whole pass: where seeking is not
    exact, the file is decoded from its beginning.
    """
    sent: set[tuple[int, int]] = set()
    try:
        for part in _passed(location, streams, span, entered=span is not None and span.start > 0):
            if isinstance(part, Chunk):
                sent.add((part.stream, part.index))
            elif span is None and part.duration < _SHORTEST * part.stated - 1:
                message = f"{location} says that it lasts {part.stated:.1f} s and ends after {part.duration:.1f} s"
                raise UnusableError(Reason.TRUNCATED_VIDEO, message)
            yield part
    except _NotEnteredError:
        for part in _passed(location, streams, span, entered=False):
            if isinstance(part, End) or (part.stream, part.index) not in sent:
                yield part


def _stated_s(container: InputContainer, video: VideoStream) -> float:
    """The duration in seconds that the container states; 0 where it states none. Of an AVI, by its number of frames."""
    stated = (container.duration or 0) / 1e6
    if container.format.name == _ESTIMATED and video.time_base:
        return max(stated, float(video.frames * video.time_base))
    return stated


def _passed(
    location: Location, streams: Sequence[Stream], span: Span | None, *, entered: bool
) -> Iterator[Chunk | End]:
    needs_length = any(isinstance(stream, PictureStream) and isinstance(stream.rate, Uniform) for stream in streams)
    length = _length(location) if needs_length else 0.0
    with opened(location) as container:
        state = _Pass(container, streams, str(location), length, span)
        try:
            if entered:
                state.enter()
            yield from state.chunks()
        except MemoryError as error:
            raise UnusableError(Reason.DECODING_TOO_LARGE, f"{location} needs more memory than it may have") from error
        except DECODER_FAULTS as error:
            if entered:
                raise _NotEnteredError from error
            message = f"{location} cannot be decoded ({ffmpeg_message(error)})"
            raise UnusableError(Reason.DAMAGED_VIDEO, message) from error


def _length(location: Location) -> float:
    """Seconds from the beginning to the end of the last picture, which headers do not always state."""
    with opened(location) as container:
        try:
            zero, end = Fraction(container.start_time or 0, 1_000_000), 0.0
            for packet in container.demux(_video_stream(container, str(location))):
                end = max(end, _packet_end(packet, zero))
        except DECODER_FAULTS as error:
            message = f"{location} cannot be read to its end ({ffmpeg_message(error)})"
            raise UnusableError(Reason.DAMAGED_VIDEO, message) from error
    return end or _USUAL_FRAME_S


def _packet_end(packet: Packet, zero: Fraction) -> float:
    """End time of a packet's content, in seconds from the beginning; 0 where it is not stated."""
    if packet.pts is None or not packet.time_base:
        return 0.0
    return float((packet.pts + (packet.duration or 0)) * packet.time_base - zero)


class _Pass:
    """The state of one pass: the current frame, and the chunk buffer of every stream."""

    def __init__(
        self,
        container: InputContainer,
        streams: Sequence[Stream],
        where: str,
        length: float,
        span: Span | None,
    ) -> None:
        self._container, self._where = container, where
        self._video = _video_stream(container, where)
        self._video.codec_context.thread_count = 1
        self._video.thread_type = "NONE"
        self._audio = container.streams.best("audio")
        self._zero = Fraction(container.start_time or 0, 1_000_000)
        self._stated = _stated_s(container, self._video)
        self._pictures = [
            PictureChunks(i, s, length, span) for i, s in enumerate(streams) if isinstance(s, PictureStream)
        ]
        self._sounds = [SoundChunks(i, s, where) for i, s in enumerate(streams) if isinstance(s, SoundStream)]
        self._is_part, self._is_entered = span is not None, False
        self._order: OrderedTimes[VideoFrame] = OrderedTimes()
        self._last_time = 0.0
        self._shown: VideoFrame | None = None
        self._shown_from = 0.0
        self._frames = 0
        self._end = 0.0

    def enter(self) -> None:
        """Seek to a key frame before the first picture of the span, by the margin."""
        due = self._due()
        can_seek = self._container.format.name in _PRESENTED and self._video.time_base is not None
        if can_seek and due is not None and due > MARGIN_S:
            assert self._video.time_base is not None
            place = (Fraction(due - MARGIN_S) + self._zero) / self._video.time_base
            self._container.seek(int(place), stream=self._video)
            self._is_entered = True

    def chunks(self) -> Iterator[Chunk | End]:
        """All chunks, and the end."""
        for packet in self._packets():
            self._end = max(self._end, _packet_end(packet, self._zero))
            if self._pictures if packet.stream is self._video else self._sounds:
                for frame in packet.decode():
                    yield from self._taken(frame)
            if self._has_all():
                break
        else:
            yield from self._rest()
        yield End(self._end, self._stated, self._frames, self._audio is not None)

    def _packets(self) -> Iterator[Packet]:
        """The packets of pictures and sound, whose times give the video's end; of a span only those that it decodes."""
        streams = [s for s in (self._video, self._audio) if s is not None]
        if self._is_part:
            streams = [s for s in streams if (self._pictures if s is self._video else self._sounds)]
            for other in self._container.streams:
                other.discard = Discard.default if other in streams else Discard.all
        return self._container.demux(streams) if streams else iter(())

    def _has_all(self) -> bool:
        """Whether the pictures of a span are complete; always false in a whole pass, which goes to the end."""
        return self._is_part and not self._sounds and self._due() is None

    def _due(self) -> float | None:
        """The time of the next sample of any stream; None when all are complete."""
        return min((chunks.due for chunks in self._pictures if chunks.due is not None), default=None)

    def _taken(self, frame: object) -> Iterator[Chunk]:
        if isinstance(frame, VideoFrame):
            time = self._time(frame)
            if time is None and self._is_entered:
                raise _NotEnteredError
            self._last_time = self._last_time + self._frame_s() if time is None else time
            for due, start in self._order.add(frame, self._last_time):
                yield from self._next_picture(due, start)
        elif isinstance(frame, AudioFrame):
            for sound in self._sounds:
                yield from sound.take(frame, self._time(frame))

    def _next_picture(self, frame: VideoFrame, start: float) -> Iterator[Chunk]:
        if self._shown is None and self._is_entered:
            self._check_entry(start)
        start = max(start, self._shown_from)
        if start - self._shown_from > MAX_LEAP_S:
            message = f"{self._where}: the times of its frames leap by {start - self._shown_from:.0f} s"
            raise UnusableError(Reason.BAD_FRAME_TIMES, message)
        if self._shown is not None:
            for pictures in self._pictures:
                yield from pictures.shown(self._shown, start)
        self._shown, self._shown_from = frame, start
        self._frames += 1

    def _check_entry(self, start: float) -> None:
        """Raise _NotEnteredError where the first frame after seeking begins after the first sample of the span."""
        due = self._due()
        if due is None or start > due:
            raise _NotEnteredError
        self._shown_from = start

    def _rest(self) -> Iterator[Chunk]:
        for due, start in self._order.rest():
            yield from self._next_picture(due, start)
        if self._pictures:
            yield from self._last_picture()
        for sound in self._sounds:
            yield from sound.last()

    def _last_picture(self) -> Iterator[Chunk]:
        if self._shown is None and self._is_entered:
            raise _NotEnteredError
        if self._shown is None:
            raise UnusableError(Reason.DAMAGED_VIDEO, f"{self._where} holds no frame that can be decoded")
        duration = self._shown.duration * (self._shown.time_base or 0)
        end = self._shown_from + float(duration if 0 < duration < MAX_LEAP_S else self._frame_s())
        self._end = max(self._end, end)
        for pictures in self._pictures:
            yield from pictures.last(self._shown, end)

    def _time(self, frame: VideoFrame | AudioFrame) -> float | None:
        if frame.pts is None or not frame.time_base:
            return None
        return float(frame.pts * frame.time_base - self._zero)

    def _frame_s(self) -> float:
        rate = self._video.average_rate
        return float(1 / rate) if rate and rate > 1 / MAX_LEAP_S else _USUAL_FRAME_S


def _video_stream(container: InputContainer, where: str) -> VideoStream:
    """The video stream; UnusableError where there is none, or no decoder for it."""
    video = container.streams.best("video")
    if not isinstance(video, VideoStream) or video.disposition & Disposition.attached_pic:
        raise UnusableError(Reason.NO_VIDEO_STREAM, f"{where} has no moving pictures")
    if video.codec_context is None:
        raise UnusableError(Reason.DAMAGED_VIDEO, f"{where}: there is no decoder for its pictures")
    return video
