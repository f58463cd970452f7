"""One pass over a video file: the pictures and sound of all streams that are asked for, chosen by presentation time."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from av import AudioFrame, Packet, VideoFrame
from av.container import InputContainer
from av.stream import Disposition
from av.video.stream import VideoStream

from vtr_core.storage import Location
from vtr_core.video.chunks import PictureChunks, SoundChunks
from vtr_core.video.faults import Fault, VideoFault
from vtr_core.video.opening import DECODER_FAULTS, opened
from vtr_core.video.order import OrderedTimes
from vtr_core.video.sampling import Uniform
from vtr_core.video.sound import MAX_LEAP_S
from vtr_core.video.streams import Chunk, End, PictureStream, SoundStream, Stream

_SHORTEST = 0.9
"""A file that ends before this share of its own length is truncated (and a second is always allowed)."""
_USUAL_FRAME_S = 0.04


def decode(location: Location, streams: Sequence[Stream], threads: int = 1) -> Iterator[Chunk | End]:
    """The chunks of `streams`, in order within each, and an End. Sound streams of a video without sound stay empty.

    Seconds count from the beginning of what the container holds, as those of a player. VideoFault where the file
    cannot be opened or decoded to its end; chunks that came before are then of no use.
    """
    needs_length = any(isinstance(stream, PictureStream) and isinstance(stream.rate, Uniform) for stream in streams)
    length = _length(location) if needs_length else 0.0
    with opened(location) as container:
        pass_ = _Pass(container, streams, str(location), threads, length)
        try:
            yield from pass_.chunks()
        except MemoryError as error:
            raise VideoFault(Fault.DECODING_TOO_LARGE, f"{location} needs more memory than it may have") from error
        except DECODER_FAULTS as error:
            raise VideoFault(Fault.DAMAGED_VIDEO, f"{location} cannot be decoded ({error})") from error


def _length(location: Location) -> float:
    """Seconds from the beginning to the end of the last picture, which headers do not always say."""
    with opened(location) as container:
        try:
            zero, end = Fraction(container.start_time or 0, 1_000_000), 0.0
            for packet in container.demux(video_stream(container, str(location))):
                end = max(end, _packet_end(packet, zero))
        except DECODER_FAULTS as error:
            raise VideoFault(Fault.DAMAGED_VIDEO, f"{location} cannot be read to its end ({error})") from error
    return end or _USUAL_FRAME_S


def _packet_end(packet: Packet, zero: Fraction) -> float:
    """Where what a packet holds ends, in seconds from the beginning; 0 where it does not say."""
    if packet.pts is None or not packet.time_base:
        return 0.0
    return float((packet.pts + (packet.duration or 0)) * packet.time_base - zero)


class _Pass:
    """The state of one pass: which frame is shown, and what every stream has yet to give."""

    def __init__(
        self, container: InputContainer, streams: Sequence[Stream], where: str, threads: int, length: float
    ) -> None:
        self._container, self._where = container, where
        self._video = video_stream(container, where)
        self._video.codec_context.thread_count = threads
        self._video.thread_type = "AUTO" if threads != 1 else "NONE"
        self._audio = container.streams.best("audio")
        self._zero = Fraction(container.start_time or 0, 1_000_000)
        self._said = (container.duration or 0) / 1e6
        self._pictures = [PictureChunks(i, s, length) for i, s in enumerate(streams) if isinstance(s, PictureStream)]
        self._sounds = [SoundChunks(i, s, where) for i, s in enumerate(streams) if isinstance(s, SoundStream)]
        self._order: OrderedTimes[VideoFrame] = OrderedTimes()
        self._last_time = 0.0
        self._shown: VideoFrame | None = None
        self._shown_from = 0.0
        self._frames = 0
        self._end = 0.0

    def chunks(self) -> Iterator[Chunk | End]:
        """All chunks, and the end."""
        for packet in self._container.demux([s for s in (self._video, self._audio) if s is not None]):
            self._end = max(self._end, _packet_end(packet, self._zero))
            if packet.stream is self._video or self._sounds:
                for frame in packet.decode():
                    yield from self._taken(frame)
        yield from self._rest()
        self._check_length()
        yield End(self._end, self._frames, self._audio is not None)

    def _taken(self, frame: object) -> Iterator[Chunk]:
        if isinstance(frame, VideoFrame):
            time = self._time(frame)
            self._last_time = self._last_time + self._frame_s() if time is None else time
            for due, start in self._order.add(frame, self._last_time):
                yield from self._next_picture(due, start)
        elif isinstance(frame, AudioFrame):
            for sound in self._sounds:
                yield from sound.take(frame, self._time(frame))

    def _next_picture(self, frame: VideoFrame, start: float) -> Iterator[Chunk]:
        start = max(start, self._shown_from)
        if start - self._shown_from > MAX_LEAP_S:
            what = f"{self._where}: the times of its frames leap by {start - self._shown_from:.0f} s"
            raise VideoFault(Fault.BAD_FRAME_TIMES, what)
        if self._shown is not None:
            for pictures in self._pictures:
                yield from pictures.shown(self._shown, start)
        self._shown, self._shown_from = frame, start
        self._frames += 1

    def _rest(self) -> Iterator[Chunk]:
        for due, start in self._order.rest():
            yield from self._next_picture(due, start)
        if self._shown is None:
            raise VideoFault(Fault.DAMAGED_VIDEO, f"{self._where} holds no frame that can be decoded")
        duration = self._shown.duration * (self._shown.time_base or 0)
        end = self._shown_from + float(duration if 0 < duration < MAX_LEAP_S else self._frame_s())
        self._end = max(self._end, end)
        for pictures in self._pictures:
            yield from pictures.last(self._shown, end)
        for sound in self._sounds:
            yield from sound.last()

    def _check_length(self) -> None:
        if self._end < _SHORTEST * self._said - 1:
            what = f"{self._where} says that it lasts {self._said:.1f} s and ends after {self._end:.1f} s"
            raise VideoFault(Fault.TRUNCATED_VIDEO, what)

    def _time(self, frame: VideoFrame | AudioFrame) -> float | None:
        if frame.pts is None or not frame.time_base:
            return None
        return float(frame.pts * frame.time_base - self._zero)

    def _frame_s(self) -> float:
        rate = self._video.average_rate
        return float(1 / rate) if rate and rate > 1 / MAX_LEAP_S else _USUAL_FRAME_S


def video_stream(container: InputContainer, where: str) -> VideoStream:
    """The stream of moving pictures; VideoFault where there is none, or none that a decoder is here for."""
    found = container.streams.best("video")
    if not isinstance(found, VideoStream) or found.disposition & Disposition.attached_pic:
        raise VideoFault(Fault.NO_VIDEO_STREAM, f"{where} has no moving pictures")
    if found.codec_context is None:
        raise VideoFault(Fault.DAMAGED_VIDEO, f"{where}: there is no decoder for its pictures")
    return found
