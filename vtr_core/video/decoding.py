"""One pass over a video file from any storage: the pictures and sound of all requested streams."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import av.error
import pyarrow as pa
from av import AudioFrame, Packet, VideoFrame
from av.container import InputContainer
from av.stream import Disposition
from av.stream import Stream as AnyStream
from av.video.stream import VideoStream

from vtr_core.errors import VtrError
from vtr_core.storage import Location, StorageError, locate
from vtr_core.unusable import Reason, UnusableError
from vtr_core.video.chunks import MAX_LEAP_S, PictureChunks, SoundChunks
from vtr_core.video.clock import USUAL_FRAME_S, Clock, OrderedTimes, stated_end
from vtr_core.video.streams import Chunk, End, PictureStream, SoundStream, Stream, Uniform

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
_APART_S = 1.0
"""Seconds by which the end of the sound may differ from that of the pictures without a word."""


def decode(location: Location, streams: Sequence[Stream]) -> Iterator[Chunk | End]:
    """The chunks of `streams`, in order within each, and an End. Sound streams of a silent video file are empty.

    Times in seconds are relative to the beginning of the container's content, as in players, by one clock for pictures
    and sound. UnusableError where the file cannot be opened or decoded to its end, or ends much earlier than it states;
    this invalidates the chunks before it.
    """
    needs_length = any(isinstance(stream, PictureStream) and isinstance(stream.rate, Uniform) for stream in streams)
    length = _length(location) if needs_length else 0.0
    with opened(location) as container:
        state = _Pass(container, streams, str(location), length)
        try:
            yield from state.chunks()
        except MemoryError as error:
            raise UnusableError(Reason.DECODING_TOO_LARGE, f"{location} needs more memory than it may have") from error
        except DECODER_FAULTS as error:
            message = f"{location} cannot be decoded ({ffmpeg_message(error)})"
            raise UnusableError(Reason.DAMAGED_VIDEO, message) from error


def _length(location: Location) -> float:
    """Seconds from the beginning to the end of the last picture, which headers do not always state."""
    with opened(location) as container:
        clock, video = Clock(container), _video_stream(container, str(location))
        try:
            for packet in container.demux(_read_streams(container, video)):
                clock.set(packet)
        except DECODER_FAULTS as error:
            message = f"{location} cannot be read to its end ({ffmpeg_message(error)})"
            raise UnusableError(Reason.DAMAGED_VIDEO, message) from error
        return clock.end([video]) or USUAL_FRAME_S


def _read_streams(container: InputContainer, video: VideoStream) -> list[AnyStream]:
    """The pictures and the sound, if there is one: the best, else the first, which may begin late in the file."""
    best = container.streams.best("audio")
    return [video, *(list(container.streams.audio[:1]) if best is None else [best])]


class _Pass:
    """The state of one pass: the current frame, and the chunk buffer of every stream."""

    def __init__(self, container: InputContainer, streams: Sequence[Stream], where: str, length: float) -> None:
        self._container, self._where = container, where
        self._video = _video_stream(container, where)
        self._video.codec_context.thread_count = 1
        self._video.thread_type = "NONE"
        self._clock = Clock(container)
        self._read = _read_streams(container, self._video)
        self._has_sound = len(self._read) > 1
        self._stated = stated_end(container, self._read)
        self._pictures = [PictureChunks(i, s, length) for i, s in enumerate(streams) if isinstance(s, PictureStream)]
        self._sounds = [SoundChunks(i, s, where) for i, s in enumerate(streams) if isinstance(s, SoundStream)]
        if self._sounds and any(stream.codec_context is None for stream in self._read[1:]):
            raise UnusableError(Reason.DAMAGED_VIDEO, f"{where}: there is no decoder for its sound")
        self._order: OrderedTimes[VideoFrame] = OrderedTimes()
        self._last_time = 0.0
        self._shown: VideoFrame | None = None
        self._shown_from = 0.0
        self._frames = 0
        self._pictures_end = 0.0

    def chunks(self) -> Iterator[Chunk | End]:
        """All chunks, and the end; UnusableError for a file that ends much earlier than it states."""
        for packet in self._packets():
            self._clock.set(packet)
            if packet.stream in self._read and (self._pictures if packet.stream is self._video else self._sounds):
                for frame in packet.decode():
                    yield from self._taken(frame)
        yield from self._rest()
        self._check_end()
        yield End(max(self._pictures_end, self._clock.end(self._read)), self._frames, self._has_sound, self._remark())

    def _packets(self) -> Iterator[Packet]:
        """The packets of pictures and sound; of all streams where the file states their durations together alone."""
        return self._container.demux(self._read if self._stated is not None else list(self._container.streams))

    def _check_end(self) -> None:
        ends, stated = self._clock.end(self._read), self._stated
        if stated is None:
            begin = max(0, self._container.start_time or 0)  # Matroska's duration counts from 0 all the same
            ends, stated = self._clock.end(), ((self._container.duration or 0) - begin) / 1e6
        if not self._clock.restarts and ends < _SHORTEST * stated - 1:  # else it is the duration of one part
            message = f"{self._where} says that it lasts {stated:.1f} s and ends after {ends:.1f} s"
            raise UnusableError(Reason.TRUNCATED_VIDEO, message)

    def _remark(self) -> str:
        """What a person may have to know of the file's times; empty where there is nothing."""
        remarks = []
        if self._clock.restarts:
            remarks.append(f"its time stamps begin again or leap {self._clock.restarts} ×, and its parts are in a row")
        if self._has_sound:
            pictures, sound = (self._clock.end([stream]) for stream in self._read)
            if abs(pictures - sound) > _APART_S:
                remarks.append(f"its pictures end at {pictures:.1f} s and its sound at {sound:.1f} s")
        return f"{self._where}: {'; '.join(remarks)}" if remarks else ""

    def _taken(self, frame: object) -> Iterator[Chunk]:
        if isinstance(frame, VideoFrame):
            time = self._clock.seconds(frame.pts, frame.time_base)
            self._last_time = self._last_time + self._frame_s() if time is None else time
            for due, start in self._order.add(frame, self._last_time):
                yield from self._next_picture(due, start)
        elif isinstance(frame, AudioFrame):
            for sound in self._sounds:
                yield from sound.take(frame, self._clock.seconds(frame.pts, frame.time_base))

    def _next_picture(self, frame: VideoFrame, start: float) -> Iterator[Chunk]:
        start = max(start, self._shown_from)
        if start - self._shown_from > MAX_LEAP_S:
            message = f"{self._where}: the times of its frames leap by {start - self._shown_from:.0f} s"
            raise UnusableError(Reason.BAD_FRAME_TIMES, message)
        if self._shown is not None:
            for pictures in self._pictures:
                yield from pictures.shown(self._shown, start)
        self._shown, self._shown_from = frame, start
        self._frames += 1

    def _rest(self) -> Iterator[Chunk]:
        for due, start in self._order.rest():
            yield from self._next_picture(due, start)
        if self._pictures:
            yield from self._last_picture()
        for sound in self._sounds:
            yield from sound.last()

    def _last_picture(self) -> Iterator[Chunk]:
        if self._shown is None:
            raise UnusableError(Reason.DAMAGED_VIDEO, f"{self._where} holds no frame that can be decoded")
        duration = self._shown.duration * (self._shown.time_base or 0)
        end = self._shown_from + float(duration if 0 < duration < MAX_LEAP_S else self._frame_s())
        self._pictures_end = end
        for pictures in self._pictures:
            yield from pictures.last(self._shown, end)

    def _frame_s(self) -> float:
        rate = self._video.average_rate
        return float(1 / rate) if rate and rate > 1 / MAX_LEAP_S else USUAL_FRAME_S


def _video_stream(container: InputContainer, where: str) -> VideoStream:
    """The video stream; UnusableError where there is none, or no decoder for it."""
    video = container.streams.best("video")
    if not isinstance(video, VideoStream) or video.disposition & Disposition.attached_pic:
        raise UnusableError(Reason.NO_VIDEO_STREAM, f"{where} has no moving pictures")
    if video.codec_context is None:
        raise UnusableError(Reason.DAMAGED_VIDEO, f"{where}: there is no decoder for its pictures")
    return video
