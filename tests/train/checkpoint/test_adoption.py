"""A trial goes on from another one's checkpoint, which may be gone by then."""

from pathlib import Path

import pytest

from vtr_core import storage
from vtr_core.errors import CheckpointError
from vtr_core.storage import locate
from vtr_core.train.checkpoint.checkpoint_files import complete_checkpoints
from vtr_core.train.checkpoint.run_folder import RunFolder, adopt


def run(folder: Path, *steps: int) -> RunFolder:
    for step in steps:
        place = folder / "checkpoints" / f"step-{step:08d}"
        place.mkdir(parents=True)
        (place / "model.safetensors").write_text(f"{folder.name} {step}")
        storage.write_json(locate(str(place / "checkpoint.json")), {"version": 2, "files": {"model.safetensors": "h"}})
    return RunFolder.at(str(folder))


def names(folder: RunFolder) -> list[str]:
    return [place.name for place in complete_checkpoints(folder.checkpoints)]


def test_own_later_checkpoints_give_way(tmp_path: Path) -> None:
    mine, other = run(tmp_path / "mine", 5, 10, 15), run(tmp_path / "other", 5, 10)
    place = adopt(mine, other, "step-00000010")
    assert names(mine) == ["step-00000005", "step-00000010"]
    assert (Path(place.path) / "model.safetensors").read_text() == "other 10"
    assert names(other) == ["step-00000005", "step-00000010"]


def test_a_deleted_one_is_replaced_by_the_newest(tmp_path: Path) -> None:
    mine, other = run(tmp_path / "mine", 5), run(tmp_path / "other", 15, 20)
    adopt(mine, other, "step-00000010")
    assert names(mine) == ["step-00000005", "step-00000020"]


def test_there_must_be_one(tmp_path: Path) -> None:
    mine = run(tmp_path / "mine", 5)
    with pytest.raises(CheckpointError, match="no checkpoint to go on from"):
        adopt(mine, run(tmp_path / "other"), "step-00000010")
    assert names(mine) == ["step-00000005"]


def test_names_in_a_marker_stay_in_their_folder(tmp_path: Path) -> None:
    other = run(tmp_path / "other", 5)
    marker = tmp_path / "other" / "checkpoints" / "step-00000005" / "checkpoint.json"
    marker.write_text('{"version": 2, "files": {"../../x": "h"}}')
    with pytest.raises(CheckpointError, match="must name files beside it"):
        adopt(run(tmp_path / "mine"), other, "step-00000005")
