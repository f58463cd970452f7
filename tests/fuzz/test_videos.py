"""Damaged video files are decoded or have a fault from the list, within the limits, and the decoder goes on."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.builders.small_videos import grey_video
from vtr_core.unusable import UnusableError
from vtr_core.video.process import DecodingProcess, Limits
from vtr_core.video.streams import Chunk, Codec, End, Picture, PictureStream, Rate, SoundStream

CODECS = {
    "mp4": Codec(),
    "webm": Codec("libvpx", sound="libopus"),
    "mkv": Codec(sound="flac"),
    "avi": Codec("mpeg4", sound="mp3"),
    "ts": Codec(),
}
STREAMS = (PictureStream(Picture(32, 32), Rate(5.0)), SoundStream())
Mutation = Callable[[bytearray, Random], bytes]


def _flipped(content: bytearray, draw: Random) -> bytes:
    for _ in range(draw.choice((1, 3, 30))):
        content[draw.randrange(len(content))] = draw.randrange(256)
    return bytes(content)


def _cut(content: bytearray, draw: Random) -> bytes:
    return bytes(content[: draw.randrange(len(content))])


def _without(content: bytearray, draw: Random) -> bytes:
    first = draw.randrange(len(content))
    return bytes(content[:first] + content[first + draw.randrange(1, 4000) :])


def _twice(content: bytearray, draw: Random) -> bytes:
    first = draw.randrange(len(content))
    return bytes(content[:first] + content[max(0, first - draw.randrange(1, 4000)) :])


def _head(content: bytearray, draw: Random) -> bytes:
    """Where the sizes, rates and times of a file are."""
    for _ in range(draw.choice((1, 4))):
        content[draw.randrange(min(600, len(content)))] = draw.choice((0, 1, 0x7F, 0x80, 0xFF))
    return bytes(content)


def _tail(content: bytearray, draw: Random) -> bytes:
    """An index, as mp4 and avi have it there."""
    for _ in range(draw.choice((1, 8))):
        content[-draw.randrange(1, min(1200, len(content)))] = draw.choice((0, 1, 0x7F, 0x80, 0xFF))
    return bytes(content)


MUTATIONS: tuple[Mutation, ...] = (_flipped, _cut, _without, _twice, _head, _tail)


def _damaged(suffix: str, count: int, folder: Path) -> tuple[int, dict[str, int]]:
    """How many of `count` damaged files could be decoded, and the faults of the others."""
    whole = grey_video(
        folder / f"v.{suffix}", [k / 10 for k in range(15)], sound_s=1.5, codec=CODECS[suffix], frame_rate=10
    ).read_bytes()
    decoded, faults = 0, dict[str, int]()
    with DecodingProcess(Limits(silent_s=60, max_bytes=2**30)) as process:
        for seed in range(count):
            draw = Random(f"{suffix} {seed}")
            path = folder / f"{seed}.{suffix}"
            path.write_bytes(MUTATIONS[seed % len(MUTATIONS)](bytearray(whole), draw))
            outcome = _outcome(process, path)
            if isinstance(outcome, UnusableError):
                assert path.name in str(outcome)
                faults[outcome.reason.value] = faults.get(outcome.reason.value, 0) + 1
            else:
                *chunks, end = outcome
                assert isinstance(end, End)
                assert all(isinstance(chunk, Chunk) for chunk in chunks)
                decoded += 1
    return decoded, faults


def _outcome(process: DecodingProcess, path: Path) -> list[Chunk | End] | UnusableError:
    try:
        return list(process.decode(str(path), STREAMS))
    except UnusableError as fault:
        return fault


@pytest.mark.parametrize("suffix", CODECS)
def test_damaged_files(suffix: str, tmp_path: Path) -> None:
    decoded, faults = _damaged(suffix, 24, tmp_path)
    assert decoded
    assert faults


@pytest.mark.long
@pytest.mark.parametrize("suffix", CODECS)
def test_many_damaged_files(suffix: str, tmp_path: Path) -> None:
    decoded, faults = _damaged(suffix, 200, tmp_path)
    assert decoded + sum(faults.values()) == 200
    assert "decoder_died" not in faults
