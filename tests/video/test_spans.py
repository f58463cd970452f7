"""Spans of a long video, each decoded from a key frame before it, give the very chunks of one pass."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av import VideoFrame, VideoStream

from tests.builders.small_videos import grey_video
from vtr_core.storage import locate
from vtr_core.video.decoders import VideoFault
from vtr_core.video.decoding import cuttable_length, decode, whole
from vtr_core.video.encoding import Codec
from vtr_core.video.streams import (
    Chunk,
    Cut,
    End,
    Picture,
    PictureStream,
    Rate,
    SoundStream,
    Span,
    Stream,
    Uniform,
    spans,
)

SECONDS, RATE = 60, 6
SMALL = Picture(32, 32)
ALL: tuple[Stream, ...] = (
    PictureStream(SMALL, Rate(1.0), chunk=4),
    PictureStream(SMALL, Rate(8.0), chunk=16),
    SoundStream(chunk=160_000, overlap=240),
    PictureStream(SMALL, Uniform(5), chunk=5),
)
CUT = Cut(span_s=9.0, longer_than_s=20.0)
X264 = {"preset": "veryfast", "x264-params": "keyint=12:min-keyint=12:scenecut=0:bframes=3"}
KINDS: dict[str, tuple[str, str, dict[str, str]]] = {
    "mp4": ("mp4", "libx264", X264),
    "mkv": ("mkv", "libx264", X264),
    "open groups": ("mp4", "libx264", {"x264-params": "keyint=12:min-keyint=12:scenecut=0:bframes=3:open-gop=1"}),
    "refreshed": ("mp4", "libx264", {"x264-params": "keyint=30:intra-refresh=1:bframes=0"}),
    "vp9": ("webm", "libvpx-vp9", {"g": "15", "cpu-used": "8", "deadline": "realtime"}),
    "no key frames": ("mkv", "libx264", {"x264-params": "keyint=infinite"}),
}
QUICK = (("regular", "open groups"), ("variable", "mp4"), ("variable", "vp9"))
"""Those that `make test` has time for."""


def moving(path: Path, codec: str, options: dict[str, str], times: Sequence[float]) -> Path:
    """Blocks of many greys that move, with changes from frame to frame, and noise that sounds."""
    draw = np.random.default_rng(0)
    ground = draw.integers(0, 256, (6, 8, 3)).astype(np.uint8).repeat(16, axis=0).repeat(16, axis=1)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=RATE, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 128, 96, "yuv420p"
        stream.codec_context.time_base = Fraction(1, 1000)
        for number, time in enumerate(times):
            pixels = np.roll(ground, (number, 3 * number), axis=(0, 1)) ^ np.uint8(number % 7)
            frame = VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = round(time * 1000), Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def variable() -> list[float]:
    """Steps of a tenth of a second to three seconds."""
    steps = np.random.default_rng(1).choice((0.1, 0.2, 0.3, 3.0), 200, p=(0.4, 0.3, 0.2, 0.1))
    times = np.cumsum(steps)
    return [float(time) for time in times[times < SECONDS]]


def chunks_of(parts: Sequence[Chunk | End]) -> dict[tuple[int, int], np.ndarray]:
    """The values of chunks by stream and index; none comes twice."""
    chunks = [part for part in parts if isinstance(part, Chunk)]
    found = {(chunk.stream, chunk.index): chunk.values for chunk in chunks}
    assert len(found) == len(chunks)
    return found


def compare(path: Path, streams: Sequence[Stream]) -> tuple[End, list[End]]:
    """The end of one pass, and those of its spans, whose chunks are those of the pass."""
    location = locate(str(path))
    *one, end = decode(location, streams)
    assert isinstance(end, End)
    cut = spans(end.said, streams, CUT)
    assert len(cut) > 5
    parts = [list(decode(location, streams, span=span)) for span in cut]
    ends = [part.pop() for part in parts]
    expected, found = chunks_of(one), chunks_of([chunk for part in parts for chunk in part])
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[key], expected[key]) for key in expected)
    return end, [one for one in ends if isinstance(one, End)]


@pytest.mark.parametrize(
    ("times", "kind"),
    [
        (times, kind) if (times, kind) in QUICK else pytest.param(times, kind, marks=pytest.mark.long)
        for times in ("regular", "variable")
        for kind in KINDS
    ],
)
def test_spans_give_what_one_pass_gives(kind: str, times: str, tmp_path: Path) -> None:
    suffix, codec, options = KINDS[kind]
    moments = variable() if times == "variable" else [k / RATE for k in range(SECONDS * RATE)]
    path = moving(tmp_path / f"v.{suffix}", codec, options, moments)
    end, ends = compare(path, (ALL[0], ALL[1], ALL[3]))
    assert cuttable_length(locate(str(path))) == pytest.approx(SECONDS, abs=4)
    assert whole(ends, "it").duration == end.duration
    if kind in ("mp4", "mkv", "open groups", "vp9"):
        assert ends[-1].frames < end.frames / 2, "the last span was decoded from the beginning"


@pytest.mark.parametrize("codec", ["aac", "libopus", "flac"])
def test_sound_is_that_of_one_pass(codec: str, tmp_path: Path) -> None:
    moments = [2.0 * k for k in range(SECONDS // 2)]
    path = grey_video(tmp_path / "v.mkv", moments, sound_s=SECONDS - 1.3, codec=Codec(sound=codec), frame_rate=1)
    end, ends = compare(path, ALL)
    assert ends[0].frames == 0, "pictures were decoded for the sound"
    assert whole(ends, "it").duration == end.duration


def test_sound_alone_is_not_cut_and_decodes_no_picture(tmp_path: Path) -> None:
    path = grey_video(tmp_path / "v.mkv", [0.0, 1.0], sound_s=2.0)
    (*_, end) = decode(locate(str(path)), (ALL[2],))
    assert isinstance(end, End)
    assert (end.frames, end.has_sound) == (0, True)
    assert spans(1e6, (ALL[2],), CUT) == ()


def test_times_that_have_to_be_put_in_order_are_not_entered(tmp_path: Path) -> None:
    path = moving(tmp_path / "v.avi", "mpeg4", {"bf": "2"}, [k / RATE for k in range(SECONDS * RATE)])
    assert cuttable_length(locate(str(path))) == 0


def test_chunks_of_all_recipes_end_with_the_spans() -> None:
    from vtr_core.backbones.recipes import RECIPES

    for one in RECIPES:
        match one.stream:
            case PictureStream(rate=Rate(per_second=rate), chunk=chunk):
                assert Cut().span_s * rate % chunk == 0
                assert Span((0,), 960.0, 1920.0).chunks(one.stream) == (960 * rate / chunk, 1920 * rate / chunk)
            case SoundStream(sample_rate=rate, chunk=chunk):
                assert Cut().span_s * rate % chunk == 0


def test_a_video_that_ends_early_is_truncated_with_spans_too(tmp_path: Path) -> None:
    path = moving(tmp_path / "v.mkv", "ffv1", {}, [k / RATE for k in range(SECONDS * RATE)])
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    ends = [part for span in spans(SECONDS, ALL[:1], CUT) for part in decode(locate(str(path)), ALL[:1], span=span)]
    with pytest.raises(VideoFault, match=r"says that it lasts 60\.0 s and ends after"):
        whole([end for end in ends if isinstance(end, End)], "it")
