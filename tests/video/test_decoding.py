"""Frames are those at the middle of their intervals, in order, and a bad file has its reason."""

from pathlib import Path

import av
import numpy as np
import pytest
from av import AudioFrame

from tests.builders.small_videos import RATE, bright_corner, grey_video, number, rotated
from tests.reference.video import frame_times, shown_at
from vtr_core.storage import locate
from vtr_core.unusable import Reason, UnusableError
from vtr_core.video.chunks import SoundReader
from vtr_core.video.decoding import decode
from vtr_core.video.streams import (
    Chunk,
    Codec,
    End,
    Picture,
    PictureStream,
    Rate,
    SoundStream,
    Stream,
    Uniform,
    write_video,
)

TIMES = {
    "regular": [k / 25 for k in range(25)],
    "variable": [0.0, 0.04, 0.5, 0.52, 0.9, 2.4, 2.44],
    "late": [0.7, 1.0, 1.2],
    "one frame": [0.0],
}
SMALL = Picture(32, 32)


def decoded(path: Path, *streams: Stream) -> tuple[list[np.ndarray], End]:
    """The chunks of every stream, together, and the end."""
    parts = list(decode(locate(str(path)), streams))
    end = parts[-1]
    assert isinstance(end, End)
    chunks = [[p.values for p in parts if isinstance(p, Chunk) and p.stream == i] for i in range(len(streams))]
    return [np.concatenate(values) if values else np.zeros(0) for values in chunks], end


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("rate", [0.7, 1.0, 8.0, 60.0])
@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_frames_are_those_that_are_shown(kind: str, rate: float, suffix: str, tmp_path: Path) -> None:
    path = grey_video(tmp_path / f"v.{suffix}", TIMES[kind])
    (pictures,), end = decoded(path, PictureStream(SMALL, Rate(rate), chunk=5))
    times, last = frame_times(path)
    assert [number(picture) for picture in pictures] == shown_at(times, last, rate)
    assert end.frames == len(TIMES[kind])


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("count", [1, 4, 50])
def test_a_number_of_frames_in_equal_parts_of_the_video(kind: str, count: int, tmp_path: Path) -> None:
    path = grey_video(tmp_path / "v.mp4", TIMES[kind])
    (pictures,), _ = decoded(path, PictureStream(SMALL, Uniform(count), chunk=count))
    times, end = frame_times(path)
    assert len(pictures) == count
    assert [number(picture) for picture in pictures] == shown_at(times, end, count / end)[:count]


def test_chunks_have_the_size_of_the_stream(tmp_path: Path) -> None:
    path = grey_video(tmp_path / "v.mp4", TIMES["regular"])
    parts = list(decode(locate(str(path)), [PictureStream(SMALL, Rate(25.0), chunk=10)]))
    assert [(p.index, len(p.values)) for p in parts if isinstance(p, Chunk)] == [(0, 10), (1, 10), (2, 5)]


def test_streams_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = grey_video(tmp_path / "v.mp4", TIMES["variable"], sound_s=2.0)
    requested = [PictureStream(SMALL, Rate(3.0)), SoundStream(), PictureStream(Picture(16, 24), Rate(10.0), chunk=3)]
    together, _ = decoded(path, *requested)
    for stream, values in zip(requested, together, strict=True):
        (alone,), _ = decoded(path, stream)
        assert np.array_equal(alone, values)


@pytest.mark.parametrize("size", [(64, 48), (48, 64), (34, 50), (322, 240)])
def test_pictures_of_any_shape(size: tuple[int, int], tmp_path: Path) -> None:
    path = grey_video(tmp_path / "v.mp4", [0.0, 0.1, 0.2], size)
    (pictures,), _ = decoded(path, PictureStream(Picture(24, 32), Rate(10.0)))
    assert pictures.shape[1:] == (24, 24, 3)
    assert [number(picture) for picture in pictures[:2]] == [0, 1]


@pytest.mark.parametrize(
    ("suffix", "codec"),
    [
        ("mp4", Codec(pixels="yuv420p10le")),
        ("webm", Codec("libvpx", sound="libopus")),
        ("avi", Codec("mpeg4", sound="mp3")),
        ("mkv", Codec("ffv1", sound="pcm_s16le")),
    ],
    ids=["10 bit", "webm", "avi", "mkv"],
)
def test_containers_and_codecs(suffix: str, codec: Codec, tmp_path: Path) -> None:
    path = grey_video(tmp_path / f"v.{suffix}", [k / 10 for k in range(20)], sound_s=2.0, codec=codec, frame_rate=10)
    (pictures, sound), end = decoded(path, PictureStream(SMALL, Rate(2.0)), SoundStream())
    assert len(pictures) == 4
    assert all(abs(number(picture) - k) <= 1 for picture, k in zip(pictures, (2, 7, 12, 17), strict=True))
    assert len(sound) == pytest.approx(2 * RATE, abs=0.2 * RATE)
    assert end.has_sound


def test_a_wrong_suffix_does_not_matter(tmp_path: Path) -> None:
    path = grey_video(tmp_path / "v.webm", [k / 10 for k in range(8)], codec=Codec("libvpx"), frame_rate=10)
    (pictures,), _ = decoded(path.rename(tmp_path / "v.avi"), PictureStream(SMALL, Rate(10.0)))
    assert [number(picture) for picture in pictures] == list(range(8))


def test_high_dynamic_range_is_reduced_to_eight_bits(tmp_path: Path) -> None:
    """Ten bits, BT.2020, PQ: the levels of the file, without tone mapping."""
    hdr = {"preset": "veryfast", "x264-params": "colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc"}
    path = grey_video(tmp_path / "v.mp4", [0.0, 0.5, 1.0], codec=Codec(pixels="yuv420p10le", options=hdr))
    with av.open(str(path)) as container:
        assert container.streams.video[0].codec_context.color_trc == 16
    (pictures,), _ = decoded(path, PictureStream(SMALL, Rate(2.0)))
    assert pictures.dtype == np.uint8
    assert [number(picture) for picture in pictures] == [0, 1]


def test_sound_is_resampled_to_one_channel_at_its_place(tmp_path: Path) -> None:
    """A tone keeps its frequency, and its samples their number."""
    path = grey_video(tmp_path / "v.mkv", [0.0, 1.9], sound_s=2.0, codec=Codec(sound="pcm_s16le"))
    (sound,), _ = decoded(path, SoundStream(8_000, chunk=3_000, overlap=100))
    parts = [p.values for p in decode(locate(str(path)), [SoundStream(8_000, 3_000, 100)]) if isinstance(p, Chunk)]
    assert [len(part) for part in parts[:-1]] == [3_100] * (len(parts) - 1)
    whole = np.concatenate([part[:3_000] for part in parts[:-1]] + [parts[-1]])
    assert len(whole) == pytest.approx(16_000, abs=2)
    loudest = np.abs(np.fft.rfft(whole[4_000:12_000])).argmax()
    assert loudest == 440
    assert len(sound) > len(whole)


def test_sound_begins_where_its_first_frame_says() -> None:
    """Silence before a late beginning and in gaps; what comes before the video's beginning is cut."""
    half = AudioFrame.from_ndarray(np.full((1, RATE // 2), 0.5, np.float32), "fltp", "mono")
    half.sample_rate = RATE
    for starts, silent, length in (
        ((0.25, 0.75), [(0, 0.25)], 1.25),
        ((0.0, 1.0), [(0.5, 1.0)], 1.5),
        ((-0.25, 0.25), [], 0.75),
    ):
        reader = SoundReader(RATE, "a video")
        parts = [part for start in starts for part in reader.take(half, start)] + list(reader.rest())
        samples = np.concatenate(parts)
        expected = np.full(round(length * RATE), 0.5, np.float32)
        for first, last in silent:
            expected[round(first * RATE) : round(last * RATE)] = 0
        assert np.array_equal(samples, expected)
    with pytest.raises(UnusableError, match="its sound leaps by 9000 s"):
        list(SoundReader(RATE, "a video").take(half, 9000.0))


def test_a_video_without_sound_has_none(tmp_path: Path) -> None:
    (sound,), end = decoded(grey_video(tmp_path / "v.mp4", [0.0, 0.1]), SoundStream())
    assert len(sound) == 0
    assert not end.has_sound
    assert end.frames == 0, "no picture is decoded for sound alone"


def test_a_rotation_that_the_file_asks_for_is_applied(tmp_path: Path) -> None:
    pixels = np.zeros((48, 48, 3), np.uint8)
    pixels[:24, :24] = 255
    path = tmp_path / "v.mp4"
    write_video(str(path), [(0.0, pixels), (0.5, pixels)])
    shown = {turned: _bright_corner(rotated(path, turned)) for turned in (0, 90, 180, 270)}
    assert shown == {0: (0, 0), 90: (0, 1), 180: (1, 1), 270: (1, 0)}


def _bright_corner(path: Path) -> tuple[int, int]:
    (pictures,), _ = decoded(path, PictureStream(SMALL, Rate(1.0)))
    return bright_corner(pictures[0])


def _bad(kind: str, folder: Path) -> Path:
    path = folder / 'it\'s a "bad" one: 100%.mp4'
    match kind:
        case "missing":
            return path
        case "empty":
            path.touch()
        case "text":
            path.write_text("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n")
        case "concat":
            path.write_text(f"ffconcat version 1.0\nfile '{grey_video(folder / 'v.mp4', [0.0, 0.1])}'\n")
        case "picture":
            from PIL import Image

            Image.new("RGB", (64, 64)).save(path, "PNG")
        case "sound alone":
            whole = grey_video(folder / "v.mkv", [0.0, 0.1], sound_s=1.0, codec=Codec(sound="pcm_s16le"))
            path = _sound_alone(whole)
        case "cut":
            whole = grey_video(folder / "v.mkv", [k / 5 for k in range(25)], size=(160, 120), codec=Codec("ffv1"))
            path.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
        case "cut avi":  # of which FFmpeg estimates the duration by the size of the file
            loud = Codec("mpeg4", sound="pcm_s16le")
            whole = grey_video(folder / "v.avi", [k / 5 for k in range(29)], sound_s=5.8, codec=loud, frame_rate=5)
            path.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
        case "headless":
            whole = grey_video(folder / "v.mp4", [k / 5 for k in range(25)])
            path.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
        case "folder":
            path.mkdir()
    return path


def _sound_alone(whole: Path) -> Path:
    path = whole.with_suffix(".wav.mkv")
    with av.open(str(whole)) as source, av.open(str(path), "w", format="matroska") as sink:
        stream = sink.add_stream_from_template(source.streams.audio[0])
        for packet in source.demux(source.streams.audio[0]):
            if packet.dts is not None:
                packet.stream = stream
                sink.mux(packet)
    return path


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("missing", Reason.MISSING_FILE),
        ("folder", Reason.UNREADABLE_FILE),
        ("empty", Reason.NOT_A_VIDEO),
        ("text", Reason.NOT_A_VIDEO),
        ("concat", Reason.NOT_A_VIDEO),
        ("picture", Reason.NOT_A_VIDEO),
        ("headless", Reason.NOT_A_VIDEO),
        ("sound alone", Reason.NO_VIDEO_STREAM),
        ("cut", Reason.TRUNCATED_VIDEO),
        ("cut avi", Reason.TRUNCATED_VIDEO),
    ],
)
def test_a_bad_file_has_its_reason(kind: str, fault: Reason, tmp_path: Path) -> None:
    path = _bad(kind, tmp_path)
    with pytest.raises(UnusableError) as raised:
        list(decode(locate(str(path)), [PictureStream(SMALL, Rate(1.0)), SoundStream()]))
    assert raised.value.reason == fault, raised.value
    assert path.name in str(raised.value)
    assert "Errno" not in str(raised.value)


def test_times_that_leap_are_not_believed(tmp_path: Path) -> None:
    path = grey_video(tmp_path / "v.mkv", [0.0, 0.1, 5000.0], codec=Codec())
    with pytest.raises(UnusableError, match="leap by 5000 s"):
        list(decode(locate(str(path)), [PictureStream(SMALL, Rate(1.0))]))


def test_sound_of_an_unknown_codec_is_told_where_it_is_asked_for(tmp_path: Path) -> None:
    video = grey_video(tmp_path / "v.mkv", [k / 5 for k in range(5)], sound_s=1.0)
    video.write_bytes(video.read_bytes().replace(b"A_AAC", b"A_ZZZ"))
    pictures = PictureStream(Picture(16, 16), Rate(2.0))
    with pytest.raises(UnusableError, match=r"v\.mkv: there is no decoder for its sound"):
        list(decode(locate(str(video)), (pictures, SoundStream())))
    assert list(decode(locate(str(video)), (pictures,)))
