import struct
import zlib

import numpy as np
import pytest
from PIL import Image
from vtr_core.data.sources.clip.video_images import image_names, read_images, sample

from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.storage import locate


def test_numbers_in_names_count_as_numbers(tmp_path):
    for name in ("f10.jpg", "f2.jpg", "f1.PNG", "notes.txt", "1.jpeg", "f2b.png", "f²3.png"):
        (tmp_path / name).touch()
    names = ["1.jpeg", "f1.PNG", "f2.jpg", "f2b.png", "f10.jpg", "f²3.png"]
    assert image_names(locate(str(tmp_path))) == names
    assert image_names(locate(str(tmp_path / "none"))) == []


@pytest.mark.parametrize(
    ("count", "num_frames", "places"),
    [(10, 4, [0, 3, 6, 9]), (10, 3, [0, 4, 9]), (100, 1, [0]), (3, 4, [0, 1, 2]), (4, 4, [0, 1, 2, 3]), (0, 4, [])],
)
def test_a_sample_goes_from_the_first_to_the_last_in_equal_steps(count, num_frames, places):
    assert sample([str(i) for i in range(count)], num_frames) == [str(i) for i in places]


def test_the_middle_square_in_red_green_and_blue(tmp_path):
    """Three columns of one colour each, the middle one twice as wide as high: what is cut off are the others."""
    values = np.zeros((8, 16, 3), np.uint8)
    values[:, :4] = (255, 0, 0)
    values[:, 4:12] = (0, 51, 255)
    values[:, 12:] = (0, 255, 0)
    Image.fromarray(values).save(tmp_path / "a.png")
    Image.fromarray(np.full((8, 8), 51, np.uint8)).save(tmp_path / "grey.png")
    images = read_images(locate(str(tmp_path)), ["a.png", "grey.png"], 8)
    assert images.dtype == np.float32
    np.testing.assert_allclose(images[0], np.broadcast_to(np.array([0, 0.2, 1])[:, None, None], (3, 8, 8)), atol=1e-6)
    np.testing.assert_allclose(images[1], np.full((3, 8, 8), 0.2), atol=1e-6)


def bomb():
    """A PNG of a few bytes that says it is 20,000 × 20,000 pixels."""
    header = struct.pack(">IIBBBBB", 20000, 20000, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"0")), (b"IEND", b""))
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize("content", [b"?", b"", bomb(), b"GIF89a"], ids=["no_image", "empty", "bomb", "other_format"])
def test_what_is_no_image_is_told(content, tmp_path):
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(UnusableError, match=r"a.png is no JPEG or PNG that can be read") as caught:
        read_images(locate(str(tmp_path)), ["a.png"], 8)
    assert caught.value.reason is Reason.UNREADABLE_FILE


def test_a_cut_off_image_is_told(tmp_path):
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)).save(tmp_path / "a.jpg")
    content = (tmp_path / "a.jpg").read_bytes()
    (tmp_path / "a.jpg").write_bytes(content[: len(content) // 2])
    with pytest.raises(UnusableError, match="no JPEG or PNG"):
        read_images(locate(str(tmp_path)), ["a.jpg"], 8)
