"""Links that lead out, devices, pipes and sockets among raw data: refused with the reason, never waited for."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.fuzz.oracle import memory_limit
from tests.fuzz.worlds import WORLDS, ingest
from vtr_core import storage
from vtr_core.data.manifest import Manifest
from vtr_core.data.sources.features.feature_folder import FeatureFolder, FrameFolder
from vtr_core.data.sources.files import read_file, read_table, read_text
from vtr_core.data.sources.pairs import Pairs
from vtr_core.data.sources.video_files import Inventory
from vtr_core.errors import InputError
from vtr_core.extraction.pictures import read_image
from vtr_core.storage import locate
from vtr_core.unusable import Reason, UnusableError
from vtr_core.video.decoding import opened

pytestmark = pytest.mark.linux  # memory_limit, /dev/zero


def link(place: Path) -> None:
    (place.parent.parent / "outside.npy").write_bytes(b"")
    np.save(place.parent.parent / "outside.npy", np.ones((10, 4), np.float32))
    place.symlink_to("../outside.npy")


def bound(place: Path) -> None:
    here = os.getcwd()
    os.chdir(place.parent)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(place.name)
    finally:
        os.chdir(here)


SPECIAL: dict[str, tuple[Callable[[Path], None], Reason]] = {
    "link": (link, Reason.UNSAFE_ID),
    "zero": (lambda place: place.symlink_to("/dev/zero"), Reason.UNSAFE_ID),
    "pipe": (os.mkfifo, Reason.UNREADABLE_FILE),
    "socket": (bound, Reason.UNREADABLE_FILE),
    "endless": (lambda place: os.truncate(os.open(place, os.O_CREAT | os.O_WRONLY), 2**40), Reason.UNREADABLE_FILE),
}
READERS: dict[str, Callable[[Path], object]] = {
    "features": lambda folder: FeatureFolder(locate(folder), "mean").read("x"),
    "features by path": lambda folder: FeatureFolder(locate(folder), "mean", by_path=True).read("x.npy"),
    "frames": lambda folder: FrameFolder(locate(folder)).read("x"),
    "text": lambda folder: read_text(locate(folder) / "x.npy"),
    "picture": lambda folder: read_image(locate(folder) / "x.npy"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", SPECIAL)
def test_no_reader_of_raw_data_takes_them(kind: str, reader: str, tmp_path: Path) -> None:
    make, reason = SPECIAL[kind]
    (tmp_path / "in").mkdir()
    make(tmp_path / "in" / "x.npy")
    with memory_limit(1 << 28), pytest.raises(UnusableError) as caught:
        READERS[reader](tmp_path / "in")
    assert caught.value.reason is reason
    assert "x.npy" in str(caught.value)


@pytest.mark.parametrize("kind", ["zero", "pipe", "socket"])
def test_no_reader_of_whole_files_or_videos_waits(kind: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    place = tmp_path / "in" / "x.mp4"
    SPECIAL[kind][0](place)
    with pytest.raises(OSError, match="it is a device, a pipe or a socket"):
        storage.read_bytes(locate(place))
    with pytest.raises(storage.StorageError, match="it is a device, a pipe or a socket"):
        storage.read_json(locate(place))
    with pytest.raises(UnusableError, match="it is a device, a pipe or a socket"), opened(locate(place)):
        pass


def test_links_within_the_folder_and_folders_that_are_links_are_read(tmp_path: Path) -> None:
    (tmp_path / "disk" / "deep").mkdir(parents=True)
    np.save(tmp_path / "disk" / "deep" / "a.npy", np.ones((3, 4), np.float32))
    (tmp_path / "disk" / "x.npy").symlink_to("deep/a.npy")
    (tmp_path / "in").symlink_to("disk")
    assert FeatureFolder(locate(tmp_path / "in"), "mean").read("x").shape == (3, 4)
    assert read_file(locate(tmp_path / "in" / "x.npy"))


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_an_ingest_drops_and_counts_them(kind: str, tmp_path: Path) -> None:
    make, reason = SPECIAL[kind]
    (tmp_path / "in").mkdir()
    world = WORLDS["howto100m"]
    world.write(tmp_path / "in")
    place = tmp_path / "in" / "2d" / "v3.npy"
    place.unlink()
    make(place)
    ingest(world.source(tmp_path / "in"), tmp_path / "out", strict=False)
    assert Manifest.load(str(tmp_path / "out")).dropped[reason.value] == 1
    with pytest.raises(InputError, match=rf"v3\.npy.*\({reason.value}\)"):
        ingest(world.source(tmp_path / "in"), tmp_path / "strict", strict=True)


def test_pairs_follow_links_with_anywhere(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    link(tmp_path / "in" / "x.npy")
    (tmp_path / "in" / "t.csv").write_text("id,caption,video\n1,a dog,x.npy\n")
    table = str(tmp_path / "in" / "t.csv")
    with pytest.raises(InputError, match="leads out of its folder"):
        ingest(Pairs(table=table), tmp_path / "out", strict=False)
    ingest(Pairs(table=table, anywhere=True), tmp_path / "out", strict=True)
    assert Manifest.load(str(tmp_path / "out")).rows == 1


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_line_that_does_not_end_is_refused(suffix: str, tmp_path: Path) -> None:
    table = tmp_path / f"t.{suffix}"
    table.write_text("id,caption\n" if suffix == "csv" else "")
    os.truncate(table, 2**36)
    with memory_limit(1 << 28), pytest.raises(InputError, match=r"t\.\w+ has a line of 16 MiB or more"):
        list(read_table(locate(table), ("id", "caption")))


def test_annotations_that_lead_out_are_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    world = WORLDS["msrvtt"]
    world.write(tmp_path / "in")
    for file in (tmp_path / "in" / "annotations").iterdir():
        file.rename(tmp_path / file.name)
        file.symlink_to(tmp_path / file.name)
    with pytest.raises(InputError, match="leads out of its folder"):
        ingest(world.source(tmp_path / "in"), tmp_path / "out", strict=False)


@pytest.mark.parametrize("place", ["folder", "glob", "list"])
def test_videos_that_lead_out_need_anywhere(place: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "outside.mp4").write_bytes(b"x")
    (folder / "a.mp4").symlink_to("../outside.mp4")
    (folder / "list.txt").write_text("a.mp4\n")
    named = {"folder": str(folder), "glob": f"{folder}/*.mp4", "list": str(folder / "list.txt")}[place]
    with pytest.raises(InputError, match=r"a\.mp4.* is a link that leads out of .*say --anywhere"):
        _ = Inventory(named).files
    assert [file.name for file in Inventory(named, anywhere=True).files] == ["a.mp4"]


def test_a_caption_of_a_video_that_leads_out_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "outside").write_bytes(b"x")
    Image.new("RGB", (8, 8)).save(tmp_path / "in" / "a.gif")
    (tmp_path / "in" / "secret").symlink_to("../outside")
    with pytest.raises(UnusableError) as caught:
        Inventory(str(tmp_path / "in")).find("secret")
    assert caught.value.reason is Reason.UNSAFE_ID
