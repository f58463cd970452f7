"""Key frames: a file of the right kind, or a placeholder."""

import base64
from pathlib import Path

import pytest

from vtr_core.errors import InputError
from vtr_core.retrieval.explain.frames import LARGEST_IMAGE, check_frames, read_pictures
from vtr_core.storage import locate

JPEG, PNG = b"\xff\xd8\xff\xe0 picture", b"\x89PNG\r\n picture"


def test_pictures_are_those_of_their_videos(tmp_path: Path) -> None:
    (tmp_path / "v0.jpg").write_bytes(JPEG)
    (tmp_path / "v1.png").write_bytes(PNG)
    found = read_pictures(locate(str(tmp_path)), ["v0", "v1", "v2", "v0"])
    assert [(p.number, p.media_type) for p in found.values()] == [(0, "image/jpeg"), (1, "image/png"), (2, "")]
    assert found["v0"].href == f"data:image/jpeg;base64,{base64.b64encode(JPEG).decode()}"
    assert found["v2"].href.startswith("data:image/svg+xml;base64,")


@pytest.mark.parametrize("content", [b"<svg onload=alert(1)>", b"", PNG, JPEG + bytes(LARGEST_IMAGE)])
def test_what_is_no_picture_is_not_shown(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "v0.jpg").write_bytes(content)
    assert read_pictures(locate(str(tmp_path)), ["v0"])["v0"].content == b""


@pytest.mark.parametrize("video", ["../secret", "a/b", "..", "", "x\x00y"])
def test_an_id_names_no_file_elsewhere(video: str, tmp_path: Path) -> None:
    (tmp_path / "secret.jpg").write_bytes(JPEG)
    (tmp_path / "frames").mkdir()
    (tmp_path / "frames" / "a").mkdir()
    (tmp_path / "frames" / "a" / "b.jpg").write_bytes(JPEG)
    assert read_pictures(locate(str(tmp_path / "frames")), [video])[video].content == b""


def test_placeholders_differ_and_do_not_change() -> None:
    one, other = read_pictures(None, ["video1"])["video1"], read_pictures(None, ["video2"])["video2"]
    assert one.placeholder == read_pictures(None, ["video1"])["video1"].placeholder
    assert one.placeholder != other.placeholder


def test_a_folder_must_be_there(tmp_path: Path) -> None:
    check_frames(None)
    with pytest.raises(InputError, match="does not exist"):
        check_frames(locate(str(tmp_path / "none")))
