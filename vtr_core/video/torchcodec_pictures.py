"""Decoding of pictures by torchcodec, on a CPU or a GPU: the same frames as PyAV's, by presentation time.

Frames decoded on a GPU stay there until they are scaled. **The GPU path has not been run: no GPU was available.**
Colour conversion and scaling differ from PyAV's, so values differ slightly; manifests record the decoder.
"""

import heapq
from collections.abc import Iterator, Sequence
from itertools import count, islice

import numpy as np
import torch
from jaxtyping import UInt8
from PIL import Image
from torch import Tensor
from torchcodec.decoders import VideoDecoder

from vtr_core.storage import Location
from vtr_core.video.chunks import PictureHolder
from vtr_core.video.decoders import Fault, VideoFault
from vtr_core.video.decoding import decode, has_presentation_times, opened, stated_s, video_stream, whole
from vtr_core.video.streams import (
    Chunk,
    End,
    FullPicture,
    PictureKind,
    PictureStream,
    Rate,
    Span,
    Stream,
    Uniform,
    WholePicture,
    by_pillow,
    cropped,
)

_FRAMES_AT_ONCE = 8
_FAULTS = (RuntimeError, ValueError, IndexError)


def decode_by_torchcodec(
    location: Location, streams: Sequence[Stream], span: Span | None, device: str
) -> Iterator[Chunk | End]:
    """As `decoding.decode`: pictures by torchcodec, one pass for all streams of them; sound by PyAV.

    Formats without presentation times, such as AVI, are decoded by PyAV: torchcodec uses their times unchanged.
    """
    if not has_presentation_times(location):
        yield from decode(location, streams, span)
        return
    asked = range(len(streams)) if span is None else span.streams
    seen = {i: one for i in asked if isinstance(one := streams[i], PictureStream)}
    heard = tuple(i for i in asked if i not in seen)
    ends: list[End] = []
    if seen:
        yield from _kept_ends(_pictures(location, seen, span or Span(tuple(seen)), device), ends)
    if heard:
        yield from _kept_ends(decode(location, streams, Span(heard)), ends)
    yield ends[0] if span is not None and len(ends) == 1 else whole(ends, str(location))


def _kept_ends(parts: Iterator[Chunk | End], ends: list[End]) -> Iterator[Chunk]:
    for part in parts:
        if isinstance(part, End):
            ends.append(part)
        else:
            yield part


def _pictures(location: Location, asked: dict[int, PictureStream], span: Span, device: str) -> Iterator[Chunk | End]:
    with opened(location) as container:  # refuses files that are no videos, as for PyAV
        said = stated_s(container, video_stream(container, str(location)))
        zero = (container.start_time or 0) / 1e6
        has_sound = container.streams.best("audio") is not None
    with location.filesystem.open_input_file(location.path) as source:
        try:
            decoder = VideoDecoder(source, dimension_order="NHWC", device=device, num_ffmpeg_threads=1)
            begin, end = decoder.metadata.begin_stream_seconds - zero, decoder.metadata.end_stream_seconds - zero
            holders = {i: PictureHolder(i, one, span) for i, one in asked.items()}
            due = heapq.merge(*(_due(i, one, span, end) for i, one in asked.items()))
            while batch := list(islice(due, _FRAMES_AT_ONCE)):
                times = [min(max(time, begin) + zero, decoder.metadata.end_stream_seconds - 1e-6) for time, _ in batch]
                frames = decoder.get_frames_played_at(times).data
                for frame, (_, stream) in zip(frames, batch, strict=True):
                    yield from holders[stream].add(scaled(frame, asked[stream].picture))
        except _FAULTS as error:
            raise VideoFault(Fault.DAMAGED_VIDEO, f"{location} cannot be decoded ({error})") from error
    for holder in holders.values():
        yield from holder.rest()
    yield End(end, said, decoder.metadata.num_frames or 0, has_sound)


def _due(position: int, stream: PictureStream, span: Span, end: float) -> Iterator[tuple[float, int]]:
    """The times of a stream's samples in the span, with its position; of a whole video at least one."""
    if isinstance(stream.rate, Uniform):
        rate = Rate(stream.rate.count / end)
        yield from ((rate.time(index), position) for index in range(stream.rate.count))
        return
    first, last = span.chunks(stream)
    for index in count(first * stream.chunk):
        time = stream.rate.time(index)
        if (last is not None and index == last * stream.chunk) or (index > 0 and time >= end):
            return
        yield time, position


def scaled(
    frame: UInt8[Tensor, "height width 3"], kind: PictureKind
) -> UInt8[np.ndarray, "shown_height shown_width 3"]:
    """The picture of an upright RGB frame: by Pillow where its scaler is Pillow's, else bicubic with antialiasing on
    the frame's device."""
    height, width = frame.shape[:2]
    size = kind.scaled(width, height)
    if size == (width, height):
        return np.ascontiguousarray(cropped(frame.cpu().numpy(), kind))
    if not isinstance(kind, WholePicture | FullPicture) and kind.scaler != "swscale_bicubic":
        scaled_frame = by_pillow(Image.fromarray(frame.cpu().numpy()), size, kind.scaler)
        return np.ascontiguousarray(cropped(scaled_frame, kind))
    values = frame.permute(2, 0, 1)[None].float()
    found = torch.nn.functional.interpolate(values, (size[1], size[0]), mode="bicubic", antialias=True)
    pixels = found[0].round_().clamp_(0, 255).to(torch.uint8).permute(1, 2, 0).cpu().numpy()
    return np.ascontiguousarray(cropped(pixels, kind))
