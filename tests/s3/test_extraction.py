"""Videos on an S3-compatible store become a data set there; one that may not be read is dropped."""

from pathlib import Path

import pytest

from pipelines.extract.command import ExtractFlags, extract
from tests.builders.small_videos import grey_video
from tests.s3.proxy import Proxy
from vtr_core import storage
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.storage import StorageError, locate
from vtr_core.video.process import DecodingProcess, Limits
from vtr_core.video.streams import Picture, PictureStream, Rate

STREAMS = (PictureStream(Picture(32, 32), Rate(1.0)),)
TIMES = [k / 5 for k in range(8)]


def test_a_store_that_is_away_ends_it_and_drops_nothing(
    folder: str, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = grey_video(tmp_path / "one.mp4", TIMES)
    storage.write_bytes(locate(f"{folder}/one.mp4"), path.read_bytes())
    monkeypatch.setenv("VTR_S3_PATIENCE_S", "1")
    with DecodingProcess(Limits()) as process:
        assert list(process.decode(f"{folder}/one.mp4", STREAMS))
        proxy.refuse()
        with pytest.raises(StorageError, match="cannot be reached"):
            list(process.decode(f"{folder}/one.mp4", STREAMS))


def test_videos_and_data_set_on_a_store(folder: str, tmp_path: Path) -> None:
    for name in ("one.mp4", "below/two.mp4"):
        (tmp_path / "below").mkdir(exist_ok=True)
        content = grey_video(tmp_path / name, TIMES, sound_s=1.5).read_bytes()
        storage.write_bytes(locate(f"{folder}/videos/{name}"), content)
    rows = (
        f"a,a film,one.mp4\nb,another,two\nc,elsewhere,{folder}/videos/one.mp4\nd,refused,s3://no-such-bucket/x.mp4\n"
    )
    storage.write_bytes(locate(f"{folder}/clips.csv"), f"id,caption,video\n{rows}".encode())
    flags = ExtractFlags(
        f"{folder}/videos",
        f"{folder}/data",
        f"{folder}/clips.csv",
        ("log-mel",),
        anywhere=True,
        workers=0,
        thumbnails=True,
    )
    result = extract(flags)
    assert Manifest.load(f"{folder}/data").rows == 3
    assert set(Thumbnails(Manifest.load(f"{folder}/data")).find("abcd")) == set("abc")
    assert sum(result.drops.counts.values()) == 1
    assert set(result.drops.counts) <= {"missing_file", "unreadable_file"}
