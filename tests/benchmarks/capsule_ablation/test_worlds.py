"""Real sets are split so that what is tested chose nothing; small made-up files in their layouts stand for them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.capsule_ablation.worlds import VIDREL_SHARES, WORLDS, Place
from benchmarks.comparison.rows import RESULTS
from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader


def _ids(uri: str) -> set[str]:
    manifest = Manifest.load(uri)
    reader = RowGroupReader(manifest, ["video_id"])
    return {str(name) for place in row_groups(manifest) for name in reader.read(place)["video_id"]}


def test_utterances_are_split_by_repetition_and_speaker(tmp_path: Path) -> None:
    folder = tmp_path / "real" / "avletters"
    for part, shape, kind in (("lips", (3, 4, 5), np.uint8), ("mfcc", (4, 6), np.float32)):
        (folder / part).mkdir(parents=True)
        for name in ("A1_Anya", "A2_Anya", "A1_Bill", "A2_Bill", "B1_Anya", "B2_Anya"):
            np.save(folder / part / f"{name}.npy", np.ones(shape, kind))
    data = WORLDS["AVLetters"].make(Place(str(tmp_path / "work"), str(tmp_path / "real"), 0))
    found = splits(data)
    assert {name: _ids(uri) for name, uri in found.items()} == {
        "train": {"A1_Anya", "A1_Bill", "B1_Anya"},
        "val": {"A2_Bill"},
        "test": {"A2_Anya", "B2_Anya"},
    }
    assert WORLDS["AVLetters"].make(Place(str(tmp_path / "work"), "no such folder", 0)) == data


def test_a_synthetic_world_has_the_clips_that_are_asked_for(tmp_path: Path) -> None:
    few, more = (WORLDS["plain"].make(Place(str(tmp_path / str(n)), "no such folder", n)) for n in (60, 120))
    assert Manifest.load(splits(few)["train"]).rows < Manifest.load(splits(more)["train"]).rows <= 120


def test_vidrel_has_enough_clips_to_choose_by() -> None:
    assert sum(VIDREL_SHARES.values()) == pytest.approx(1.0)
    assert VIDREL_SHARES["val"] == VIDREL_SHARES["test"]


def _stated(world: str) -> list[int]:
    """The sizes of train, val and test on the page."""
    return [int(size) for size in re.findall(r"\b\d{2,3}\b(?!-)", WORLDS[world].what)[-3:]]


def test_the_stated_sizes_are_those_of_which_the_figures_are_shares() -> None:
    _, chosen, tested = _stated("vidrel")
    rows = json.loads((RESULTS / "capsule_ablation.json").read_text())["worlds"]["vidrel"].values()
    found = np.array([share for row in rows for share in row["trials"].values()]) / 100 * chosen
    np.testing.assert_allclose(found, found.round(), atol=1e-6)
    found = np.array([share for row in rows for share in row["figures"]["t2v/r10"]]) / 100 * tested
    np.testing.assert_allclose(found, found.round(), atol=1e-6)


def test_msrvtt_is_split_as_in_the_other_benchmarks() -> None:
    assert _stated("MSR-VTT-800") == json.loads((RESULTS / "msrvtt_dual.json").read_text())["videos"]
