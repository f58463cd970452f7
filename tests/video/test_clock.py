"""Frames and sound keep one clock, whatever a file's time stamps do, and a file is truncated by what is read of it."""

from pathlib import Path
from random import Random

import av
import numpy as np
import pytest

from tests.builders.small_videos import RATE, Moved, grey_video, number, remuxed
from vtr_core.storage import locate
from vtr_core.unusable import UnusableError
from vtr_core.video.clock import DEPTH, Clock, OrderedTimes
from vtr_core.video.decoding import decode
from vtr_core.video.streams import Chunk, Codec, End, Picture, PictureStream, Rate, SoundStream, Uniform

SMALL = Picture(32, 32)


def test_times_in_order_stay_with_their_frames() -> None:
    assert _given([0.0, 0.04, 0.5, 0.5, 9.0]) == [0.0, 0.04, 0.5, 0.5, 9.0]


def test_times_a_few_frames_off_are_put_in_order() -> None:
    times = [float(t) for t in range(40)]
    shaken = [t for first in range(0, 40, DEPTH) for t in Random(first).sample(times[first : first + DEPTH], DEPTH)]
    assert shaken != times
    assert _given(shaken) == times


def _given(times: list[float]) -> list[float]:
    order: OrderedTimes[int] = OrderedTimes()
    pairs = [pair for frame, time in enumerate(times) for pair in order.add(frame, time)]
    pairs += order.rest()
    assert [frame for frame, _ in pairs] == list(range(len(times)))
    return [time for _, time in pairs]


SHOWN = [2, 7, 12, 17, 22]
"""The frames that are shown in the middle of the seconds of a film."""


def _are(frames: list[int], expected: list[int]) -> bool:
    """Whether these frames are shown, up to two more or fewer: sound ends some hundredths of a second later."""
    return len(frames) == len(expected) and all(abs(a - b) <= 2 for a, b in zip(frames, expected, strict=True))


def _film(path: Path, sound_s: float = 5.0, codec: Codec | None = None) -> Path:
    """Five seconds of five frames each, and a tone."""
    codec = codec or Codec(options={"preset": "veryfast", "bf": "0"})
    return grey_video(path, [k / 5 for k in range(25)], sound_s=sound_s, codec=codec, frame_rate=5)


def _joined(path: Path, *parts: Path) -> Path:
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    return path


def _later(seconds: float) -> Moved:
    return lambda time: time + seconds


def _read(path: Path) -> tuple[list[int], float, End]:
    """Which frame each second of a file shows, the seconds of its sound, and its end."""
    parts = list(decode(locate(str(path)), [PictureStream(SMALL, Rate(1.0)), SoundStream()]))
    pictures, sound = ([p.values for p in parts if isinstance(p, Chunk) and p.stream == i] for i in (0, 1))
    end = parts[-1]
    assert isinstance(end, End)
    return [number(picture) for picture in np.concatenate(pictures)], sum(map(len, sound)) / RATE, end


@pytest.mark.parametrize(("suffix", "times"), [("ts", 3), ("mkv", 2)])
def test_the_parts_of_joined_files_follow_one_another(suffix: str, times: int, tmp_path: Path) -> None:
    part = _film(tmp_path / f"a.{suffix}")
    frames, sound_s, end = _read(_joined(tmp_path / f"v.{suffix}", *[part] * times))
    assert _are(frames, times * SHOWN)
    assert sound_s == pytest.approx(5.0 * times, abs=0.4)
    assert end.duration == pytest.approx(5.0 * times, abs=0.4)
    assert f"v.{suffix}: its time stamps begin again or leap {times - 1} ×" in end.remark


@pytest.mark.parametrize("later_s", [3600.0, 9000.0, -9000.0])
def test_a_part_by_another_clock_follows_the_one_before(later_s: float, tmp_path: Path) -> None:
    """Also where FFmpeg takes an earlier time for one after 26.5 hours, when the clock of MPEG begins again."""
    part = _film(tmp_path / "a.ts")
    parts = [
        remuxed(tmp_path / f"{start}.ts", *[(part, stream, _later(start)) for stream in (0, 1)])
        for start in (max(0.0, -later_s), max(0.0, later_s))
    ]
    frames, sound_s, end = _read(_joined(tmp_path / "v.ts", *parts))
    assert _are(frames, 2 * SHOWN)
    assert sound_s == pytest.approx(10.0, abs=0.3)
    assert end.remark


def test_a_part_begins_after_the_longest_stream_of_the_one_before(tmp_path: Path) -> None:
    part = _film(tmp_path / "a.ts", sound_s=3.0)
    frames, sound_s, _ = _read(_joined(tmp_path / "v.ts", part, part))
    assert _are(frames, 2 * SHOWN)
    assert sound_s == pytest.approx(8.0, abs=0.3), "two seconds of silence between them"


def test_frames_in_equal_parts_are_of_all_parts_of_the_file(tmp_path: Path) -> None:
    part = _film(tmp_path / "a.ts")
    path = _joined(tmp_path / "v.ts", part, part)
    (chunk, _) = decode(locate(str(path)), [PictureStream(SMALL, Uniform(10), chunk=10)])
    assert isinstance(chunk, Chunk)
    assert _are([number(picture) for picture in chunk.values], 2 * SHOWN)


def test_a_gap_of_seconds_is_a_still_picture_and_silence(tmp_path: Path) -> None:
    part = _film(tmp_path / "a.mp4")
    path = remuxed(tmp_path / "v.mp4", *[(part, i, lambda t: t if t < 2.9 else t + 20) for i in (0, 1)])
    frames, sound_s, end = _read(path)
    assert frames == [2, 7, 12, *20 * [14], 17, 22]
    assert sound_s == pytest.approx(25.0, abs=0.2)
    assert end.remark == ""


@pytest.mark.parametrize(("suffix", "wrong_s"), [("ts", -2.5), ("ts", 900.0), ("mkv", -2.5)])
def test_a_single_wrong_time_moves_nothing_after_it(suffix: str, wrong_s: float, tmp_path: Path) -> None:
    moved = {}
    with av.open(str(_film(tmp_path / f"a.{suffix}"))) as container:
        clock, video = Clock(container), container.streams.video[0]
        for number, packet in enumerate(packet for packet in container.demux() if packet.dts is not None):
            before = packet.dts
            if packet.stream is video and 40 <= number < 48:
                assert packet.time_base is not None
                packet.dts = packet.pts = before + round(wrong_s / packet.time_base)
                before, wrong_s = None, 0.0  # one
            clock.set(packet)
            if before is not None and packet.dts != before:
                moved[number] = packet.dts - before
    assert wrong_s == 0.0
    assert clock.restarts
    assert not moved


def test_sound_of_another_rate_goes_on(tmp_path: Path) -> None:
    faster = Codec(sample_rate=2 * RATE, options={"preset": "veryfast", "bf": "0"})
    parts = _film(tmp_path / "a.ts"), _film(tmp_path / "b.ts", sound_s=10.0, codec=faster)
    frames, sound_s, _ = _read(_joined(tmp_path / "v.ts", *parts))
    assert _are(frames, 2 * SHOWN)
    assert sound_s == pytest.approx(10.0, abs=0.3)


def test_streams_that_end_apart_are_told(tmp_path: Path) -> None:
    _, sound_s, end = _read(_film(tmp_path / "v.mp4", sound_s=2.0))
    assert sound_s == pytest.approx(2.0, abs=0.2)
    assert end.remark.endswith("v.mp4: its pictures end at 5.0 s and its sound at 2.0 s")
    assert _read(_film(tmp_path / "even.mp4"))[2].remark == ""


@pytest.mark.parametrize("tagged", [True, False])
def test_a_subtitle_that_ends_later_truncates_nothing(tagged: bool, tmp_path: Path) -> None:
    """Matroska's tags state the durations of single streams, where there are any."""
    film, text = _film(tmp_path / "a.mp4"), tmp_path / "a.srt"
    text.write_text("1\n00:00:01,000 --> 00:01:00,000\na man cooks\n")
    path = remuxed(tmp_path / "v.mkv", (film, 0, float), (film, 1, float), (text, 0, float))
    content = path.read_bytes() if tagged else path.read_bytes().replace(b"DURATION", b"OTHERTAG")
    path.write_bytes(content)
    frames, _, end = _read(path)
    assert frames == SHOWN
    assert end.duration == pytest.approx(5.0, abs=0.2)
    if tagged:
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(UnusableError, match=r"says that it lasts 5\.\d s"):
            _read(path)


def test_a_longer_second_sound_truncates_nothing(tmp_path: Path) -> None:
    film, longer = _film(tmp_path / "a.mp4"), _film(tmp_path / "b.mp4", sound_s=60.0)
    path = remuxed(tmp_path / "v.mp4", (film, 0, float), (film, 1, float), (longer, 1, float))
    frames, sound_s, _ = _read(path)
    assert frames == SHOWN
    assert sound_s == pytest.approx(5.0, abs=0.2)
