"""Time stamps that begin again, leap, overlap or have gaps: pictures and sound keep one clock, and nothing is lost."""

from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.builders.small_videos import RATE, grey_video
from tests.fuzz.drawn import shifted, starts
from tests.fuzz.oracle import Tally
from vtr_core.data.sources.files import BadLine, parse_srt
from vtr_core.errors import InputError
from vtr_core.storage import locate
from vtr_core.unusable import UnusableError
from vtr_core.video.decoding import decode
from vtr_core.video.streams import Chunk, Picture, PictureStream, Rate, SoundStream

PART_S, PER_SECOND = 2.0, 2.0
STREAMS = (PictureStream(Picture(16, 16), Rate(PER_SECOND)), SoundStream())


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of pictures and of a tone."""
    path = tmp_path_factory.mktemp("part") / "part.ts"
    return grey_video(path, [k / 5 for k in range(10)], sound_s=PART_S, frame_rate=5)


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 300), marks=pytest.mark.long)], ids=str)
@pytest.mark.parametrize("suffix", ["ts", "mkv"])
def test_joined_recordings(suffix: str, seeds: range, part: Path, tmp_path: Path) -> None:
    """Transport streams are joined as `cat` does, files with an index are written with such stamps; the first part may
    begin anywhere."""
    tally = Tally()
    for seed in seeds:
        begins = starts(Random(seed), PART_S + 0.2, suffix != "ts")
        video = tmp_path / f"{seed}.{suffix}"
        if suffix == "ts":
            for number, start in enumerate(begins):
                shifted(part, tmp_path / f"part{number}.ts", [start])
            parts = (tmp_path / f"part{number}.ts" for number in range(len(begins)))
            video.write_bytes(b"".join(path.read_bytes() for path in parts))
        else:
            shifted(part, video, begins)
        tally.run(f"{suffix} {seed} {begins}", partial(_one_clock, video, len(begins)), str(video))
    assert not tally.faults, "\n".join(tally.faults[:20])
    assert tally.succeeded > tally.refused


def _one_clock(video: Path, parts: int) -> None:
    """As many pictures as the sound lasts, and no fewer than the parts have without what overlaps; or it is refused."""
    try:
        chunks = [chunk for chunk in decode(locate(str(video)), STREAMS) if isinstance(chunk, Chunk)]
    except UnusableError as fault:
        raise InputError(str(fault)) from fault
    pictures, samples = (sum(len(chunk.values) for chunk in chunks if chunk.stream == stream) for stream in (0, 1))
    assert abs(pictures / PER_SECOND - samples / RATE) <= 1.5, f"{pictures} pictures, {samples / RATE:.1f} s of sound"
    assert pictures / PER_SECOND >= PART_S * (parts + 1) / 2 - 1
    assert all(np.isfinite(chunk.values).all() for chunk in chunks if chunk.stream == 1)


_SETTINGS = ("", " X1:10 X2:200 Y1:5 Y2:20", " align:start position:10%", "  ", " line:0")


@pytest.mark.parametrize("seeds", [range(200), pytest.param(range(200, 20_000), marks=pytest.mark.long)], ids=str)
def test_subtitles(seeds: range) -> None:
    """Where a cue is shown is no part of its times and words."""
    for seed in seeds:
        random = Random(seed)
        start = random.choice((0, 59_999, 3_599_999, 3_600_000, random.randrange(10**8)))
        end = start + random.randint(1, 9_999)
        line = f"{_time(start)} --> {_time(end)}{random.choice(_SETTINGS)}"
        content = f"1\n{line}\ncut the onion\n"
        (cue,) = parse_srt(random.choice((content, content.replace("\n", "\r\n"), f"{content}\n\n")))
        assert not isinstance(cue, BadLine), f"{content!r}: {cue}"
        assert (cue.start, cue.end) == pytest.approx((start / 1000, end / 1000)), content
        assert cue.text == "cut the onion", repr(content)


def _time(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d},{rest:03d}"
