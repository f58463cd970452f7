"""From video files to a search: the demonstration, and an extraction that is killed."""

import csv
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from pipelines import demo as films
from pipelines.demo import NUM_TEST, NUM_VALIDATION, render
from tests.builders.small_videos import grey_video
from tests.drills.runs import kill_group
from vtr_core.data.manifest import Manifest
from vtr_core.data.worlds.films import film, frames, sound

pytestmark = pytest.mark.integration


def test_films_are_told_by_their_captions() -> None:
    told = film(0, 3)
    pictures = [pixels for _, pixels in frames(told)]
    assert len(pictures) == 24
    assert told == film(0, 3)
    assert len({film(0, index).caption for index in range(700)}) == 700
    assert any((pixels == pixels.max(axis=(0, 1))).any() for pixels in pictures)
    assert abs(sound(told)).max() == pytest.approx(0.2, abs=1e-3)


def test_films_have_a_table_with_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(films, "write_video", lambda path, *_: Path(path).write_bytes(b"a film"))
    table = render(tmp_path, NUM_TEST + NUM_VALIDATION + 2, seed=0)
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert Counter(row["split"] for row in rows) == {"train": 2, "val": NUM_VALIDATION, "test": NUM_TEST}
    assert all((tmp_path / row["video"]).stat().st_size for row in rows)


@pytest.mark.long
def test_a_killed_extraction_goes_on_to_the_same_data_set(tmp_path: Path, local_ray: None) -> None:
    """By Ray; the shards that were written stay as they are."""
    videos = tmp_path / "videos"
    videos.mkdir()
    for number in range(40):
        grey_video(videos / f"{number:02d}.mp4", [k / 5 for k in range(20)], sound_s=4.0)
    rows = "\n".join(f"{number},a film,{number:02d}.mp4" for number in range(40))
    (tmp_path / "clips.csv").write_text(f"id,caption,video\n{rows}\n")

    def words(out: str) -> list[str]:
        given = ["extract", str(videos), "--captions", str(tmp_path / "clips.csv"), "--videos-per-shard", "4"]
        return [sys.executable, "-m", "pipelines.cli", *given, "--out", str(tmp_path / out)]

    own = {**os.environ, "RAY_ADDRESS": "local"}
    process = subprocess.Popen(words("killed"), start_new_session=True, env=own, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 3600
    while len(list((tmp_path / "killed").glob("_ingest/all-*.json"))) < 2:
        assert process.poll() is None, "the extraction ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    kill_group(process)
    written = {file: file.stat().st_mtime_ns for file in (tmp_path / "killed").glob("part-*.parquet")}
    for out in ("killed", "whole"):
        subprocess.run(words(out), env=own, check=True, capture_output=True)
    assert all(file.stat().st_mtime_ns == time_ for file, time_ in written.items())
    assert Manifest.load(str(tmp_path / "killed")).fingerprint == Manifest.load(str(tmp_path / "whole")).fingerprint
