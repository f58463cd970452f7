"""The decoder that is chosen; torchcodec, where it loads, against PyAV: the same frames by presentation time."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.builders.small_videos import bright_corner, grey_video, number, rotated
from vtr_core.errors import ConfigError
from vtr_core.storage import locate
from vtr_core.video.decoders import Fault, VideoFault, chosen_decoder, torchcodec_fault
from vtr_core.video.decoding import decode
from vtr_core.video.encoding import Codec, write_video
from vtr_core.video.process import Decoding, DecodingProcess
from vtr_core.video.streams import Chunk, End, Picture, PictureStream, Rate, SoundStream, Span, Stream, Uniform

FAULT = torchcodec_fault()
only_with_torchcodec = pytest.mark.skipif(FAULT is not None, reason=f"torchcodec does not load here: {FAULT}")
SMALL = Picture(32, 32)
STREAMS: tuple[Stream, ...] = (
    PictureStream(SMALL, Rate(1.0), chunk=2),
    SoundStream(chunk=8_000, overlap=100),
    PictureStream(Picture(24, 32), Rate(7.0), chunk=5),
    PictureStream(SMALL, Uniform(4), chunk=4),
)
VARIABLE = [0.7, 0.74, 1.2, 1.24, 1.6, 3.1, 3.14, 4.0, 5.0]


def test_auto_is_pyav_where_torchcodec_does_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchcodec.decoders", None)
    decoder, why = chosen_decoder("auto")
    assert decoder == "pyav"
    assert re.match(r"PyAV decodes; torchcodec cannot be used here \(.*torchcodec", why)
    assert chosen_decoder("pyav") == ("pyav", "PyAV decodes")
    with pytest.raises(
        ConfigError, match=r"^--decoder torchcodec cannot be used here \(.*\); install .* --decoder pyav$"
    ):
        chosen_decoder("torchcodec")


def by_torchcodec(path: Path, streams: Sequence[Stream], span: Span | None = None) -> list[Chunk | End]:
    """What its decoding process gives."""
    with DecodingProcess(Decoding(decoder="torchcodec")) as process:
        return list(process.decode(str(path), streams, span))


def chunks(parts: Sequence[Chunk | End]) -> dict[tuple[int, int], np.ndarray]:
    """By stream and index."""
    return {(part.stream, part.index): part.values for part in parts if isinstance(part, Chunk)}


@only_with_torchcodec
def test_auto_is_torchcodec_where_it_loads() -> None:
    assert chosen_decoder("auto") == chosen_decoder("torchcodec") == ("torchcodec", "torchcodec decodes")


@only_with_torchcodec
@pytest.mark.parametrize("suffix", ["mp4", "mkv", "avi"])
def test_torchcodec_gives_the_frames_of_pyav(suffix: str, tmp_path: Path) -> None:
    """At variable times, after a late beginning; pixels by another scaler, sound to the sample.

    The last frame of such an mp4 has no duration, and the two give it another.
    """
    times = [k / 10 for k in range(25)] if suffix == "avi" else VARIABLE
    codec = Codec("mpeg4", sound="mp3") if suffix == "avi" else Codec()
    path = grey_video(tmp_path / f"v.{suffix}", times, (64, 48), sound_s=3.0, codec=codec, frame_rate=10)
    streams = STREAMS[:3] if suffix == "mp4" else STREAMS
    expected, found = list(decode(locate(str(path)), streams)), by_torchcodec(path, streams)
    for key, values in chunks(expected).items():
        other = chunks(found).get(key, values[:0])
        if key[0] == 1:
            assert np.array_equal(other, values)
        else:
            assert suffix == "mp4" or len(other) == len(values)
            assert all(number(one) == number(two) for one, two in zip(other, values, strict=False))
    assert [part.duration for part in (found[-1], expected[-1]) if isinstance(part, End)] == pytest.approx(
        [5.36, 5.36] if suffix != "avi" else [3.0, 3.0], abs=0.4
    )


@only_with_torchcodec
def test_torchcodec_gives_spans(tmp_path: Path) -> None:
    path = grey_video(tmp_path / "v.mp4", VARIABLE, sound_s=5.0)
    whole = chunks(by_torchcodec(path, STREAMS))
    for span in (Span((0, 2), 0.0, 2.5), Span((0, 2), 2.5), Span((1,)), Span((3,))):
        for key, values in chunks(by_torchcodec(path, STREAMS, span)).items():
            assert np.array_equal(whole.pop(key), values)
    assert not whole


@only_with_torchcodec
@pytest.mark.parametrize("scaler", ["swscale_bicubic", "pillow_bicubic"])
def test_torchcodec_scales_nearly_as_pyav_does(scaler: str, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    pixels = draw.integers(60, 200, (12, 16, 3)).astype(np.uint8).repeat(16, axis=0).repeat(16, axis=1)
    path = tmp_path / "v.mp4"
    write_video(str(path), [(0.0, pixels), (0.5, pixels)])
    stream = PictureStream(Picture(96, 112, scaler), Rate(1.0))  # type: ignore[arg-type]
    (one, _), (other, _) = decode(locate(str(path)), [stream]), by_torchcodec(path, [stream])
    assert isinstance(one, Chunk)
    assert isinstance(other, Chunk)
    assert np.abs(one.values.astype(int) - other.values).mean() < 3


@only_with_torchcodec
def test_torchcodec_turns_what_is_to_be_turned(tmp_path: Path) -> None:
    pixels = np.zeros((48, 48, 3), np.uint8)
    pixels[:24, :24] = 255
    write_video(str(tmp_path / "v.mp4"), [(0.0, pixels), (0.5, pixels)])
    for clockwise, corner in {0: (0, 0), 90: (0, 1), 180: (1, 1), 270: (1, 0)}.items():
        turned, *_ = by_torchcodec(rotated(tmp_path / "v.mp4", clockwise), STREAMS[:1])
        assert isinstance(turned, Chunk)
        assert bright_corner(turned.values[0]) == corner


@only_with_torchcodec
def test_what_is_no_video_is_none_for_torchcodec_either(tmp_path: Path) -> None:
    (tmp_path / "list.mp4").write_text("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n")
    with pytest.raises(VideoFault) as raised:
        by_torchcodec(tmp_path / "list.mp4", STREAMS)
    assert raised.value.fault == Fault.NOT_A_VIDEO
