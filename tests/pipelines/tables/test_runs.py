"""A table's folder holds figures of one choice of settings."""

from pathlib import Path

import pytest

from pipelines.tables import runs as table_runs
from pipelines.tables.runs import Sweep, run_folder, settings_file, settings_of
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.errors import RunConflict
from vtr_core.run.presets import preset
from vtr_core.storage import locate

BASE = "capsule-howto-tiny"


def sweep(out: Path, trained: list[str], monkeypatch: pytest.MonkeyPatch) -> Sweep:
    """A sweep whose trainings only write down that they took place."""

    def train(config, flags):  # type: ignore[no-untyped-def]
        trained.append(flags.out)
        raise InterruptedError

    monkeypatch.setattr("pipelines.tables.runs.train", train)
    return Sweep(str(out), "data", None, [table_runs.TestSet("mine", "data/test", "retrieval")], 1, "vtr-tables")


def test_other_settings_in_the_same_folder_are_refused_before_any_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[str] = []
    runs = sweep(tmp_path, trained, monkeypatch)
    with pytest.raises(InterruptedError):
        runs.run_variants(BASE, ["not-shared"], {"model.num_capsules": 4})
    assert len(trained) == 1
    with pytest.raises(InterruptedError):  # the same settings go on
        runs.run_variants(BASE, ["not-shared"], {"model.num_capsules": 4})
    with pytest.raises(RunConflict, match=r"model\.num_capsules = 8, was 4.*another --out"):
        runs.run_variants(BASE, ["", "not-shared"], {"model.num_capsules": 8})
    assert len(trained) == 2


def test_what_is_recorded_is_the_whole_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InterruptedError):
        sweep(tmp_path, [], monkeypatch).run_variants(BASE, [""], {"optimizer.learning_rate": 1e-4})
    saved = storage.read_json(locate(settings_file(run_folder(str(tmp_path), "", 0))))
    assert saved == settings_of(override(preset(BASE), {"optimizer.learning_rate": 1e-4, "seed": 0}))
    assert saved["evaluation"]["similarity"] == "dot"
