"""A checkpoint is read whole, from itself alone, or refused with its fault named."""

import dataclasses
import errno
import io
import json
import math
import pickle
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import pytest
import safetensors.torch
import torch
from torch import Tensor

from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.errors import CheckpointError, RunConflict, VtrError
from vtr_core.run.build import build_model
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.storage import Location, StorageError, locate
from vtr_core.systems.all import SYSTEMS
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint import load_model
from vtr_core.train.checkpoint.checkpoint_files import (
    MARKER,
    Checkpoint,
    Progress,
    load_checkpoint,
    save_checkpoint,
    write_tensors,
)
from vtr_core.train.checkpoint.run_folder import RunFolder, RunRecord
from vtr_core.train.loop.recorder import judge
from vtr_core.train.optimizer import build_optimizer

RECORD = RunRecord("data", None, "f", "sqlite:///x", "vtr")


def config() -> TrainConfig:
    inputs = {"features": {"video": 6, "audio": 4}, "num_words": 3, "word_dim": 5}
    changes = {"model.inputs": inputs, "model.num_capsules": 2, "model.embedding_dim": 4, "model.words.hidden_dim": 4}
    return override(preset("capsule-howto-tiny"), changes)


def checkpoint(progress: Progress = Progress(step=7)) -> Checkpoint:  # noqa: B008
    torch.manual_seed(0)
    model = build_model(config().model)
    optimizer = build_optimizer(model, config().optimizer)
    sum(parameter.sum() for parameter in model.parameters()).backward()  # type: ignore[union-attr]
    optimizer.step()
    words = Vocabulary(("a", "b", "c"))
    return Checkpoint(config(), model.state_dict(), optimizer.state_dict(), progress, words, {"git.commit": "abc"})


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_checkpoint(locate(str(tmp_path / "c")), checkpoint())
    return tmp_path / "c"


def test_what_was_saved_is_loaded(saved: Path) -> None:
    expected, found = checkpoint(), load_checkpoint(locate(str(saved)), SYSTEMS)
    assert found.config == expected.config
    assert found.progress == expected.progress
    assert found.vocabulary == expected.vocabulary
    for name, tensor in expected.model.items():
        assert torch.equal(found.model[name], tensor)
    for key, state in expected.optimizer["state"].items():
        assert all(torch.equal(found.optimizer["state"][key][name], value) for name, value in state.items())
    loaded = load_model(str(saved))
    assert not loaded.model.training
    assert loaded.provenance == {"git.commit": "abc"}


def _pickled(folder: Path) -> None:
    """Replace the optimiser's state with a pickle that would run code, and the hash with its own."""
    import hashlib

    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (folder / "exploded",)  # type: ignore[return-value]

    content = pickle.dumps(Bomb(), protocol=2)
    (folder / "optimizer.pt").write_bytes(content)
    marker = json.loads((folder / MARKER).read_text())
    marker["files"]["optimizer.pt"] = hashlib.sha256(content).hexdigest()
    (folder / MARKER).write_text(json.dumps(marker))


def test_a_pickle_is_not_run(saved: Path) -> None:
    _pickled(saved)
    with pytest.raises(CheckpointError, match=r"optimizer\.pt"):
        load_checkpoint(locate(str(saved)), SYSTEMS)
    assert not (saved / "exploded").exists()


def _flip(folder: Path) -> None:
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "model.safetensors").write_bytes(bytes(content))


def _other_system(folder: Path) -> None:
    import hashlib

    values = json.loads((folder / "config.json").read_text())
    values["model"] = {"kind": "siamese_capsule"}
    content = json.dumps(values).encode()
    (folder / "config.json").write_bytes(content)
    marker = json.loads((folder / MARKER).read_text())
    marker["files"]["config.json"] = hashlib.sha256(content).hexdigest()
    (folder / MARKER).write_text(json.dumps(marker))


FAULTS: list[tuple[Callable[[Path], object], str]] = [
    (lambda folder: (folder / MARKER).unlink(), "no checkpoint.json"),
    (lambda folder: (folder / "model.safetensors").unlink(), "lacks model.safetensors"),
    (lambda folder: (folder / MARKER).write_text("[]"), "not a checkpoint of version 2"),
    (_flip, r"model\.safetensors is damaged"),
    (_other_system, "'siamese_capsule' model"),
]


@pytest.mark.parametrize(("damage", "message"), FAULTS)
def test_damage_is_named(saved: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(saved)
    with pytest.raises(VtrError, match=message):
        load_model(str(saved))


def test_old_checkpoints_go_and_the_best_stays(tmp_path: Path) -> None:
    folder = RunFolder.at(str(tmp_path))
    for step, value in enumerate([0.0, 1.0, 0.5, 1.0, None], 1):
        folder.save(checkpoint(Progress(step=step, value=value)), keep=2)
    names = sorted(child.name for child in (tmp_path / "checkpoints").iterdir())
    assert names == ["best.json", "step-00000002", "step-00000004", "step-00000005"]
    assert load_model(str(tmp_path)).progress.step == 2
    latest = folder.latest(SYSTEMS)
    assert latest is not None
    assert latest.progress.step == 5


class _Full:
    """A disk with room for so many bytes."""

    def __init__(self, room: int) -> None:
        self._room = room

    def write(self, data: Any) -> int:
        self._room -= memoryview(data).nbytes
        if self._room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return memoryview(data).nbytes


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.pt"])
@pytest.mark.parametrize("room", [0, 1000], ids=["at once", "midway"])
def test_a_checkpoint_that_cannot_be_written_leaves_nothing_and_the_best_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, room: int
) -> None:
    folder = RunFolder.at(str(tmp_path))
    for step, value in ((1, 3.0), (2, 1.0)):
        folder.save(checkpoint(Progress(step=step, value=value)), keep=1)
    opened = storage.open_for_writing

    def full(location: Location) -> AbstractContextManager[Any]:
        return nullcontext(_Full(room)) if location.name == name else opened(location)

    monkeypatch.setattr(storage, "open_for_writing", full)
    with pytest.raises(
        StorageError, match=r"step-00000003 cannot be written.*No space left.*it needs 0\.\d MB, .* free"
    ):
        folder.save(checkpoint(Progress(step=3, value=9.0)), keep=1)
    monkeypatch.undo()
    names = sorted(child.name for child in (tmp_path / "checkpoints").iterdir())
    assert names == ["best.json", "step-00000001", "step-00000002"]
    assert load_model(str(tmp_path)).progress.step == 1
    folder.save(checkpoint(Progress(step=4, value=2.0)), keep=1)
    assert sorted(child.name for child in (tmp_path / "checkpoints").iterdir())[1:] == [
        "step-00000001",
        "step-00000004",
    ]


def test_tidying_removes_what_a_crash_left_and_repairs_best_json(tmp_path: Path) -> None:
    folder, checkpoints = RunFolder.at(str(tmp_path)), tmp_path / "checkpoints"
    for step, value in ((1, 3.0), (2, 1.0)):
        folder.save(checkpoint(Progress(step=step, value=value)), keep=2)
    (checkpoints / "best.json").write_text('{"checkpo')
    (checkpoints / "best.json.part-77").write_text("{")
    shutil.copytree(checkpoints / "step-00000002", checkpoints / "step-00000003")
    (checkpoints / "step-00000003" / MARKER).unlink()
    folder.tidy()
    assert sorted(child.name for child in checkpoints.iterdir()) == ["best.json", "step-00000001", "step-00000002"]
    assert load_model(str(tmp_path)).progress.step == 1


def test_a_folder_holds_one_run(tmp_path: Path) -> None:
    folder = RunFolder.at(str(tmp_path / "run"))
    folder.claim(RECORD, config())
    assert folder.read(SYSTEMS) == (RECORD, config())
    with pytest.raises(RunConflict, match=r"--resume.*, or delete it"):
        folder.claim(RECORD, config())
    folder.save(checkpoint(Progress(step=1)), keep=1)
    with pytest.raises(RunConflict, match=r"choose another --out$"):
        folder.claim(RECORD, config())
    with pytest.raises(RunConflict, match="no run to resume"):
        RunFolder.at(str(tmp_path / "none")).read(SYSTEMS)


def test_nan_is_never_the_best_validation(tmp_path: Path) -> None:
    progress, folder = Progress(), RunFolder.at(str(tmp_path / "run"))
    for step, value in enumerate([math.nan, 1.0, math.nan, 2.0], 1):
        progress = judge(dataclasses.replace(progress, step=step), {"m": value}, "m")
        folder.save(checkpoint(progress), keep=1)
        best = json.loads((tmp_path / "run" / "checkpoints" / "best.json").read_text())["checkpoint"]
        assert best == f"step-{[1, 2, 2, 4][step - 1]:08d}"
    assert (progress.best_step, progress.best_value, progress.flat_validations) == (4, 2.0, 0)
    first = judge(Progress(step=1), {"m": math.nan}, "m")
    assert (first.best_step, first.best_value, first.flat_validations) == (None, None, 1)
    assert judge(Progress(step=2, best_value=math.nan, best_step=1), {"m": 1.0}, "m").best_step == 2


def test_a_plateau_is_so_many_validations_without_a_gain_since_the_last_one() -> None:
    progress, plateaus = Progress(), []
    for value in [1.0, 1.0, 0.5, 0.9, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]:
        progress = judge(progress, {"m": value}, "m", plateau_patience=3)
        plateaus.append(progress.plateaus)
    assert plateaus == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3]
    assert (progress.flat_validations, progress.flat_at_rate) == (7, 1)
    assert judge(Progress(flat_at_rate=5, best_value=9.0), {"m": 1.0}, "m").plateaus == 0


def test_the_published_schedule_lowers_an_old_rate_at_the_first_validation_that_is_not_the_best() -> None:
    values = [1.0, 0.9, 2.0, 1.0, 1.5, 1.6, 3.0, 4.0, 5.0, 4.0, 4.5, 6.0]
    progress, plateaus = Progress(), []
    for value in values:
        progress = judge(progress, {"m": value}, "m", plateau_patience=3, plateau="old_rate")
        plateaus.append(progress.plateaus)
    expected, best, age, lowered = [], -1.0, 0, 0
    for value in values:
        age += 1
        if value <= best and age > 2:
            age, lowered = 0, lowered + 1
        best = max(best, value)
        expected.append(lowered)
    assert plateaus == expected == [0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2]


DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
DTYPES += [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def tensors() -> dict[str, Tensor]:
    found = {str(dtype): torch.arange(7).to(dtype) for dtype in DTYPES}
    return {**found, "none": torch.zeros(3, 0), "number": torch.tensor(2.5), "turned": torch.randn(4, 5).T}


def test_safetensors_reads_what_was_written() -> None:
    expected, sink = tensors(), io.BytesIO()
    write_tensors(expected, sink)
    found = safetensors.torch.load(sink.getvalue())
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


class Sizes(io.BytesIO):
    """A sink that knows the size of every write."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def write(self, data: Any) -> int:
        self.sizes.append(memoryview(data).nbytes)
        return super().write(data)


@pytest.mark.parametrize("write", [write_tensors, torch.save])
def test_no_write_is_of_more_than_one_tensor(write: Callable[[dict[str, Tensor], BinaryIO], None]) -> None:
    sink = Sizes()
    write({f"{i}": torch.zeros(5000) for i in range(20)}, sink)
    assert sum(sink.sizes) > 20 * 20_000
    assert max(sink.sizes) <= 20_000
