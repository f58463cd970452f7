"""The documents' commands one after the other, on small made-up inputs in the layouts that it names, in one folder."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest

from pipelines.cli import run
from tests.builders.made_faces import made_faces
from tests.builders.small_videos import grey_video
from tests.distribution.readme_walk import WALKED
from tests.fuzz.worlds import WORLDS
from vtr_core.data.manifest import splits

VIDEO, AUDIO, NUM_CLIPS = 2, 1, 40
"""Values of a row of features; vtr ingest pairs makes twice as many of them, their means and deviations."""
SMALL = ["--training.max-steps", "2", "--scaling.workers", "0", "--batch.videos", "4"]
MORE = {
    "synthetic --records videos": ["--num-videos", "40"],
    "synthetic_tokens": ["--num-videos", "40"],
    "concepts": ["--min-captions", "1", "--processes", "1"],
    "gmc": ["--training.max-steps", "2", "--scaling.workers", "0", "--batch.videos", "4"],
}
"""What makes a command's work small, by a word of it; none changes what it reads or writes."""


def small(words: list[str]) -> list[str]:
    """The command with what makes it small."""
    if words[0] == "train":
        clips = [] if "siamese" in words[1] else ["--batch.clips-per-video", "2"]
        return [*words, *SMALL, *clips]
    return [*words, *(more for name in MORE if set(name.split()) <= set(words) for more in MORE[name])]


def write_inputs(root: Path) -> None:
    """The table of "Your own data" with more rows, AT&T's folder, CLIP's tokens, and what test sets are made from."""
    draw = np.random.default_rng(0)
    for folder, dim in (("features", VIDEO), ("audio", AUDIO)):
        (root / folder).mkdir()
        for number in range(NUM_CLIPS):
            np.save(root / folder / f"clip{number}.npy", draw.random((6, dim)).astype(np.float32))
    with (root / "clips.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("id", "caption", "video", "audio", "split"))
        for number in range(NUM_CLIPS):
            split = "train" if number < 24 else ("val", "test")[number % 2]
            sound = f"audio/clip{number}.npy" if number % 3 else ""
            rows.writerow(
                (f"clip{number}", f"a man cuts the onion {number}", f"features/clip{number}.npy", sound, split)
            )
    made_faces(root / "att_faces", subjects=16)
    for name in "ab":
        shutil.copy(root / "att_faces" / "s1" / "1.pgm", root / f"{name}.pgm")
    for world in ("msrvtt_1ka", "howto100m_json", "youcook2", "crosstask"):
        (root / "raw" / world).mkdir(parents=True)
        WORLDS[world].write(root / "raw" / world)
    shutil.copytree(root / "raw" / "msrvtt_1ka" / "annotations", root / "msrvtt")
    for folder, shape in (("tokens", (3, 50, 8)), ("texts", (2, 8))):
        (root / folder).mkdir()
        for number in range(4):
            np.save(root / folder / f"video{number}.npy", draw.standard_normal(shape).astype(np.float32))


def extract_films() -> None:
    """Videos; rows of the places of their frames, as the page of MUSE makes them, and of the bundled encoder."""
    folder = Path("films")
    folder.mkdir()
    for number in range(20):
        grey_video(folder / f"{number}.mp4", [0.0, 0.5, 1.0])
    rows = [f"clip{number},a grey film {number},{number}.mp4" for number in range(20)]
    (folder / "clips.csv").write_text("\n".join(["id,caption,video", *rows]))
    settings = ["--captions", "films/clips.csv", "--recipe", "imagenet-lite-tokens", "--records", "videos"]
    shares = ["--splits", "train", ".6", "val", ".2", "test", ".2"]
    run("extract", ["films", *settings, "--out", "data/films", *shares, "--workers", "0"])
    shutil.copytree(folder, "videos", ignore=shutil.ignore_patterns("*.csv"))
    settings = ["--captions", "films/clips.csv", "--recipe", "bundled"]
    run("extract", ["films", *settings, "--out", "data/own", *shares, "--workers", "0"])


def ingest_test_sets(root: Path) -> None:
    """As the table of adapters says: youcook2 and msrvtt into splits below --out, howto100m and crosstask into it."""
    cook = root / "raw" / "youcook2"
    settings = ["--annotations", str(cook / "validation_youcook.csv"), "--feature-folder", str(cook / "2d")]
    run("ingest", ["youcook2", *settings, "--out", "data/youcook2"])
    for world, out in (("msrvtt_1ka", "msrvtt-1k-a"), ("howto100m_json", "howto"), ("crosstask", "crosstask")):
        run("ingest", [*WORLDS[world].words(root / "raw" / world), "--out", f"data/{out}"])
    assert set(splits("data/youcook2")) == {"test"}
    assert set(splits("data/msrvtt-1k-a")) == {"train", "test"}


@pytest.mark.long
@pytest.mark.integration
def test_they_work_one_after_the_other(
    tmp_path: Path, local_ray: None, own_tracking_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path)
    ingest_test_sets(tmp_path)
    extract_films()
    failed = {}
    for words in WALKED:
        try:
            run(words[0], small(words)[1:])
        except SystemExit as end:
            if words != ["doctor"]:  # which ends with 1 where something on the machine is not as it should be
                failed[" ".join(words)] = f"exit {end.code}"
        except Exception as error:  # the next ones are tried all the same
            failed[" ".join(words)] = repr(error)
    assert failed == {}
    assert (tmp_path / "page").is_dir()
    assert (tmp_path / "analysis" / "transform.json").is_file()
