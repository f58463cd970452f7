"""Folders of frames as tokens and caption vectors, by a small CLIP."""

import pickle
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.builders.pretrained import save_clip
from tests.builders.toy import written
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.reading.stored_rows import taken_frames
from vtr_core.data.sources import faces
from vtr_core.data.sources.source import KEPT, Drops, Video, VideoSource
from vtr_core.encoders.encoder import encoder
from vtr_core.errors import InputError
from vtr_core.extraction.pictures import FrameFolders, image_names, read_image
from vtr_core.storage import locate
from vtr_core.unusable import Reason, UnusableError

COUNTS = {"a": 25, "b": 3, "c": 2}


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("models") / "clip"
    save_clip(folder)
    return f"hf:{folder}"


@pytest.fixture
def source(clip: str, tmp_path: Path) -> FrameFolders:
    generator = np.random.default_rng(0)
    for video, count in COUNTS.items():
        (tmp_path / "frames" / video).mkdir(parents=True)
        for number in range(count):
            values = generator.integers(0, 256, (16, 20, 3), np.uint8)
            Image.fromarray(values).save(tmp_path / "frames" / video / f"frame{number}.png")
    rows = ("a,a dog,train", "a,?,train", "a,red car,train", "b,cat,val", "c,man,test", "d,barbell,test")
    (tmp_path / "t.csv").write_text("\n".join(["id,caption,split", *rows]) + "\n")
    return FrameFolders(frame_folder=str(tmp_path / "frames"), table=str(tmp_path / "t.csv"), frames=4, encoder=clip)


def rows(source: FrameFolders, drops: Drops) -> dict[str, Video]:
    videos = [source.video(video, drops) for video in source.videos(drops)]
    return {video.video_id: video for video in videos if video is not None}


def test_a_row_has_the_tokens_of_sampled_frames_and_the_vectors_of_captions(
    source: FrameFolders, clip: str, tmp_path: Path
) -> None:
    made = encoder(clip)
    assert isinstance(source, VideoSource)
    assert [(feature.name, feature.dim) for feature in source.features()] == [("video", 50 * 24), ("text", 24)]
    drops = Drops()
    videos = rows(source, drops)
    for video, captions, numbers in (("a", ("a dog", "red car"), (0, 8, 16, 24)), ("b", ("cat",), (0, 1, 2))):
        frames = [np.asarray(Image.open(tmp_path / "frames" / video / f"frame{number}.png")) for number in numbers]
        tokens = made.encode_patches(made.prepare(np.stack(frames))).reshape(len(numbers), -1)
        assert videos[video].captions == captions
        np.testing.assert_allclose(videos[video].features["video"], tokens, atol=1e-2, rtol=1e-3)
        np.testing.assert_array_equal(videos[video].features["text"], made.encode_text(captions).astype(np.float16))
    assert videos["d"].features.keys() == {"text"}
    assert not videos["d"].features["text"].any()
    assert drops.counts == {"empty_caption": 1, KEPT: 1}


def test_videos_that_cannot_be_read_are_dropped(source: FrameFolders, tmp_path: Path) -> None:
    (tmp_path / "frames" / "a" / "frame8.png").write_bytes(b"?")
    for file in (tmp_path / "frames" / "b").iterdir():
        file.unlink()
    (tmp_path / "frames" / "b" / "notes.txt").touch()
    drops = Drops()
    assert rows(source, drops).keys() == {"c", "d"}
    assert drops.counts == {"empty_caption": 1, "unreadable_file": 1, "no_frames": 1, KEPT: 1}
    assert "frame8.png" in drops.examples["unreadable_file"][0]
    with pytest.raises(InputError, match="--strict"):
        rows(source, Drops(strict=True))


def test_the_encoder_does_not_travel(source: FrameFolders) -> None:
    """A plan is sent to every task, which loads the encoder once by its name."""
    source.features()
    assert len(pickle.dumps(source)) < 2000


def test_it_is_ingested(source: FrameFolders, clip: str, tmp_path: Path) -> None:
    manifests = written(source, tmp_path / "out", IngestOptions())
    assert {m.uri.rsplit("/", 1)[-1]: m.rows for m in manifests} == {"train": 1, "val": 1, "test": 2}
    assert manifests[0].source["encoder"] == clip


def test_numbers_in_names_count_as_numbers(tmp_path: Path) -> None:
    for name in ("f10.jpg", "f2.jpg", "f1.PNG", "notes.txt", "1.jpeg", "f2b.png", "f²3.png"):
        (tmp_path / name).touch()
    names = ["1.jpeg", "f1.PNG", "f2.jpg", "f2b.png", "f10.jpg", "f²3.png"]
    assert image_names(locate(str(tmp_path))) == names
    assert image_names(locate(str(tmp_path / "none"))) == []


@pytest.mark.parametrize(
    ("count", "num_frames", "places"),
    [(10, 4, [0, 3, 6, 9]), (10, 3, [0, 4, 9]), (100, 1, [0]), (3, 4, [0, 1, 2]), (4, 4, [0, 1, 2, 3]), (0, 4, [])],
)
def test_a_sample_goes_from_the_first_to_the_last_in_equal_steps(
    count: int, num_frames: int, places: list[int]
) -> None:
    assert list(taken_frames(count, num_frames)) == places


def bomb() -> bytes:
    """A PNG of a few bytes that says it is 20,000 × 20,000 pixels."""
    header = struct.pack(">IIBBBBB", 20000, 20000, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"0")), (b"IEND", b""))
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize("content", [b"?", b"", bomb(), b"GIF89a"], ids=["no_image", "empty", "bomb", "other_format"])
def test_what_is_no_image_is_told(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(UnusableError, match=r"a.png is no JPEG or PNG that can be read") as caught:
        read_image(locate(str(tmp_path / "a.png")))
    assert caught.value.reason is Reason.UNREADABLE_FILE


@pytest.mark.parametrize("suffix", ["jpg", "png"])
def test_a_picture_stands_as_its_camera_says(suffix: str, tmp_path: Path) -> None:
    """EXIF's orientation 6, of a camera on its side; also of images of faces."""
    lying = np.repeat(np.repeat(np.array([[0, 255], [0, 0], [0, 0]], np.uint8), 16, axis=0), 16, axis=1)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(lying).save(tmp_path / f"a.{suffix}", exif=exif)
    place = locate(str(tmp_path / f"a.{suffix}"))
    for pixels in (read_image(place), faces.read_image(place)):
        assert np.abs(pixels[:, :, 0].astype(int) - np.rot90(lying, -1)).max() < 16


def test_a_grey_image_has_three_colours_and_a_cut_off_one_is_told(tmp_path: Path) -> None:
    Image.fromarray(np.full((8, 6), 51, np.uint8)).save(tmp_path / "grey.png")
    assert (read_image(locate(str(tmp_path / "grey.png"))) == np.full((8, 6, 3), 51)).all()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)).save(tmp_path / "a.jpg")
    content = (tmp_path / "a.jpg").read_bytes()
    (tmp_path / "a.jpg").write_bytes(content[: len(content) // 2])
    with pytest.raises(UnusableError, match="no JPEG or PNG"):
        read_image(locate(str(tmp_path / "a.jpg")))
