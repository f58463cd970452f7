"""Key frames: a file of the right kind, or a placeholder."""

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders.toy import toy_videos
from vtr_core.data.shards.thumbnails import Thumbnail, Thumbnails, write_thumbnails
from vtr_core.retrieval.explain.pages import LARGEST_IMAGE, read_pictures
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


def test_thumbnails_stand_in_for_files_and_tell_the_time_span(tmp_path: Path) -> None:
    """Looked up in many row groups of two files; what is no JPEG is not shown."""
    manifest = toy_videos(tmp_path / "d", (1, 1, 1))
    of = [[Thumbnail(f"v{i}", 0, 61.4, JPEG + bytes([i])) for i in range(150)], [Thumbnail("w", 5, 5, PNG)]]
    shards = [
        replace(shard, thumbnails=write_thumbnails(locate(str(tmp_path / "d" / f"{i}.thumbnails")), of[i]))
        for i, shard in enumerate(manifest.shards)
    ]
    thumbnails = Thumbnails(replace(manifest, shards=tuple(shards)))
    assert thumbnails
    assert not Thumbnails(manifest)
    found = read_pictures(None, ["v149", "w", "gone", "v3", "v70"], thumbnails)
    assert [(one.item_id, one.content[-1:], one.when) for one in found.values()] == [
        ("v149", bytes([149]), "0:00–1:01"),
        ("w", b"", ""),
        ("gone", b"", ""),
        ("v3", bytes([3]), "0:00–1:01"),
        ("v70", bytes([70]), "0:00–1:01"),
    ]
    (tmp_path / "v3.jpg").write_bytes(JPEG)
    (own,) = read_pictures(locate(str(tmp_path)), ["v3"], thumbnails).values()
    assert (own.content, own.when) == (JPEG, "0:00–1:01")
