"""Small video files: frames whose grey tells their number, and a tone."""

from collections.abc import Callable, Sequence
from pathlib import Path

import av
import numpy as np

from vtr_core.video.streams import Codec, write_video

GREY_STEP = 8
RATE = 16_000


def grey_video(
    path: Path,
    times: Sequence[float],
    size: tuple[int, int] = (64, 48),
    sound_s: float = 0.0,
    codec: Codec | None = None,
    frame_rate: int = 25,
) -> Path:
    """Frame k is all of the grey 16 + 8 k; the sound is a tone of 440 Hz."""
    width, height = size
    frames = [(t, np.full((height, width, 3), 16 + GREY_STEP * k, np.uint8)) for k, t in enumerate(times)]
    write_video(str(path), frames, tone(sound_s) if sound_s else None, codec, frame_rate)
    return path


def tone(seconds: float, hertz: float = 440.0) -> np.ndarray:
    """A tone of half of full scale at 16 kHz."""
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


def number(picture: np.ndarray) -> int:
    """Which frame of a grey video a picture is of."""
    return round((float(picture.mean()) - 16) / GREY_STEP)


def rotated(path: Path, clockwise: int) -> Path:
    """An mp4 with another matrix in its header, which makes players turn the picture clockwise."""
    item = 0x00010000
    a, b, c, d = {0: (item, 0, 0, item), 90: (0, item, -item, 0), 180: (-item, 0, 0, -item), 270: (0, -item, item, 0)}[
        clockwise
    ]
    content = bytearray(path.read_bytes())
    place = content.index(b"tkhd") + 4 + 40
    content[place : place + 36] = np.array([a, b, 0, c, d, 0, 0, 0, 0x40000000], ">i4").tobytes()
    turned = path.with_name(f"{clockwise}.mp4")
    turned.write_bytes(content)
    return turned


def bright_corner(picture: np.ndarray) -> tuple[int, int]:
    """The row and column of the brightest quarter."""
    half = len(picture) // 2
    quarters = picture.reshape(2, half, 2, half, 3).mean(axis=(1, 3, 4))
    row, column = np.unravel_index(quarters.argmax(), (2, 2))
    return int(row), int(column)


Moved = Callable[[float], float]
"""Of a time in seconds another one."""


def remuxed(path: Path, *streams: tuple[Path, int, Moved]) -> Path:
    """Streams of files, by number, with other times."""
    with av.open(str(path), "w") as writer:
        packets = []
        for source, place, move in streams:
            reader = av.open(str(source))
            target = writer.add_stream_from_template(reader.streams[place])
            for packet in reader.demux(reader.streams[place]):
                if packet.dts is not None and packet.pts is not None:
                    time = float(packet.dts * packet.time_base)
                    ticks = round((move(time) - time) / packet.time_base)
                    packet.pts, packet.dts, packet.stream = packet.pts + ticks, packet.dts + ticks, target
                    packets.append((move(time), packet))
        for _, packet in sorted(packets, key=lambda pair: pair[0]):
            writer.mux(packet)
    return path
