"""A span of a long video, decoded from a key frame before it, has the very chunks of one pass."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av import VideoFrame, VideoStream

from vtr_core.storage import locate
from vtr_core.unusable import UnusableError
from vtr_core.video.decoding import decode
from vtr_core.video.streams import Chunk, End, Picture, PictureStream, Rate, SoundStream, Span

SECONDS, RATE = 60, 6
SMALL = Picture(32, 32)
STREAMS = (PictureStream(SMALL, Rate(1.0), chunk=4), PictureStream(SMALL, Rate(8.0), chunk=16))
SPANS = [Span(0.0, 9.0), Span(9.0, 27.0), Span(44.0, 47.0), Span(51.0, 90.0)]
GROUPS = "keyint=12:min-keyint=12:scenecut=0:bframes=3"
KINDS: dict[str, tuple[str, str, dict[str, str]]] = {
    "mp4": ("mp4", "libx264", {"preset": "veryfast", "x264-params": GROUPS}),
    "mkv": ("mkv", "libx264", {"preset": "veryfast", "x264-params": GROUPS}),
    "open groups": ("mp4", "libx264", {"x264-params": f"{GROUPS}:open-gop=1"}),
    "refreshed": ("mp4", "libx264", {"x264-params": "keyint=30:intra-refresh=1:bframes=0"}),
    "vp9": ("webm", "libvpx-vp9", {"g": "15", "cpu-used": "8", "deadline": "realtime"}),
    "no key frames": ("mkv", "libx264", {"x264-params": "keyint=infinite"}),
    "times out of order": ("avi", "mpeg4", {"bf": "2"}),
}
QUICK = (("variable", "mp4"), ("regular", "open groups"), ("variable", "vp9"), ("regular", "times out of order"))
"""Those that `make test` has time for."""


def moving(path: Path, codec: str, options: dict[str, str], times: Sequence[float]) -> Path:
    """Blocks of many greys that move, with changes from frame to frame."""
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


def regular() -> list[float]:
    return [k / RATE for k in range(SECONDS * RATE)]


def variable() -> list[float]:
    """Steps of a tenth of a second to three seconds."""
    steps = np.random.default_rng(1).choice((0.1, 0.2, 0.3, 3.0), 200, p=(0.4, 0.3, 0.2, 0.1))
    times = np.cumsum(steps)
    return [float(time) for time in times[times < SECONDS]]


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
    moments = variable() if times == "variable" else regular()
    location = locate(str(moving(tmp_path / f"v.{suffix}", codec, options, moments)))
    *chunks, whole = decode(location, STREAMS)
    for span in SPANS:
        *parts, end = decode(location, STREAMS, span)
        expected = [chunk for chunk in chunks if isinstance(chunk, Chunk) and begins_in(chunk, span)]
        assert len(parts) == len(expected) > 0
        for part, chunk in zip(ordered(parts), ordered(expected), strict=True):
            assert (part.stream, part.index) == (chunk.stream, chunk.index)
            assert np.array_equal(part.values, chunk.values)
    assert isinstance(end, End)
    assert isinstance(whole, End)
    if kind in ("mp4", "mkv", "open groups", "vp9"):
        assert end.frames < whole.frames / 2, "the last span was decoded from the beginning"


def begins_in(chunk: Chunk, span: Span) -> bool:
    seconds = 4.0 if chunk.stream == 0 else 2.0
    return span.start <= chunk.index * seconds < span.end


def ordered(parts: Sequence[Chunk | End]) -> list[Chunk]:
    return sorted((part for part in parts if isinstance(part, Chunk)), key=lambda chunk: (chunk.stream, chunk.index))


def test_sound_alone_decodes_no_picture(tmp_path: Path) -> None:
    path = moving(tmp_path / "v.mkv", "libx264", {}, [0.0, 1.0])
    (end,) = decode(locate(str(path)), (SoundStream(),))
    assert isinstance(end, End)
    assert (end.frames, end.has_sound) == (0, False)


def test_a_video_that_ends_early_is_truncated(tmp_path: Path) -> None:
    path = moving(tmp_path / "v.mkv", "ffv1", {}, regular())
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(UnusableError, match=r"says that it lasts 60\.0 s and ends after"):
        list(decode(locate(str(path)), STREAMS))
