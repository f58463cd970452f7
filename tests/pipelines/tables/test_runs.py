"""A table's folder holds figures of one choice of settings."""

from pathlib import Path

import pytest

from pipelines.tables import runs as table_runs
from pipelines.tables.row_settings import check_settings, settings_file, settings_of, variant_configs
from pipelines.tables.runs import Sweep, figures_file, read_results, run_folder
from pipelines.train.command import TrainFlags
from tests.builders.toy import toy_dataset
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.errors import RunConflict
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.train.checkpoint.run_folder import RunFolder, RunRecord

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
        runs.run_all(variant_configs(BASE, ["not-shared"], {"model.num_capsules": 4}))
    assert len(trained) == 1
    with pytest.raises(InterruptedError):  # the same settings go on
        runs.run_all(variant_configs(BASE, ["not-shared"], {"model.num_capsules": 4}))
    with pytest.raises(RunConflict, match=r"model\.num_capsules = 8, was 4.*another --out"):
        runs.run_all(variant_configs(BASE, ["", "not-shared"], {"model.num_capsules": 8}))
    assert len(trained) == 2


def test_settings_of_an_earlier_version_are_the_same_with_the_defaults_of_later_ones(tmp_path: Path) -> None:
    config, place = preset(BASE), locate(settings_file(str(tmp_path / "run")))
    earlier = settings_of(config)
    del earlier["optimizer"]["temperature_factor"]
    storage.write_json(place, earlier)
    check_settings(str(tmp_path / "run"), config)
    with pytest.raises(RunConflict, match=r"optimizer\.temperature_factor = 0\.5, was 1\.0"):
        check_settings(str(tmp_path / "run"), override(config, {"optimizer.temperature_factor": 0.5}))
    storage.write_json(place, earlier | {"gone": 3})
    with pytest.raises(RunConflict, match=r"gone = None, was 3"):
        check_settings(str(tmp_path / "run"), config)


def test_all_trainings_begin_with_the_model_that_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str | None] = []

    def train(config: TrainConfig, flags: TrainFlags) -> None:
        begun.append(flags.init)
        raise InterruptedError

    monkeypatch.setattr("pipelines.tables.runs.train", train)
    for init in (None, "runs/language"):
        with pytest.raises(InterruptedError):
            Sweep(str(tmp_path / str(init)), "data", None, [], 1, "vtr-tables", init=init).train(
                preset(BASE), str(tmp_path / "run")
            )
    assert begun == [None, "runs/language"]


def test_runs_that_began_with_another_model_are_refused(tmp_path: Path) -> None:
    data = toy_dataset(tmp_path / "data", clips_of=[1, 2])[0]
    out, language = str(tmp_path / "out"), str(tmp_path / "language")
    record = RunRecord(data.uri, None, data.fingerprint, "", "vtr", init=f"{language}/checkpoints/step-00000003")
    folder = run_folder(out, "", 0)
    RunFolder.at(folder).claim(record, preset(BASE))
    one = table_runs.TestSet("mine", "data/test", "retrieval")
    storage.write_json(locate(figures_file(folder, one)), {"uri": "data/test", "figures": {}, "chance": {}})
    for other in (None, str(tmp_path / "lang")):
        with pytest.raises(RunConflict, match=f"began with {language}/.*, not with {other or 'random weights'}"):
            Sweep(out, data.uri, None, [one], 1, "vtr-tables", init=other).run_all(variant_configs(BASE, [""], {}))
    Sweep(out, data.uri, None, [one], 1, "vtr-tables", init=language).run_all(variant_configs(BASE, [""], {}))


def test_figures_of_another_test_set_of_the_same_name_are_refused(tmp_path: Path) -> None:
    one = table_runs.TestSet("mine", "data/test", "retrieval")
    place = figures_file(run_folder(str(tmp_path), "", 0), one)
    storage.write_json(locate(place), {"uri": "other/test", "figures": {}, "chance": {}})
    runs = Sweep(str(tmp_path), "data", None, [one], 1, "vtr-tables")
    with pytest.raises(RunConflict, match="has figures for mine of other/test; give that data set, or these another"):
        runs.run_all(variant_configs(BASE, [""], {}))


def test_runs_of_other_training_data_are_refused(tmp_path: Path) -> None:
    data, other = (toy_dataset(tmp_path / name, clips_of=clips)[0] for name, clips in (("a", [1, 2]), ("b", [2, 3])))
    folder = RunFolder.at(run_folder(str(tmp_path / "out"), "", 0))
    folder.claim(RunRecord(other.uri, None, other.fingerprint, "", "vtr"), preset(BASE))
    runs = Sweep(
        str(tmp_path / "out"), data.uri, None, [table_runs.TestSet("mine", "data/test", "retrieval")], 1, "vtr-tables"
    )
    with pytest.raises(RunConflict, match=f"was trained on {other.uri}"):
        runs.run_all(variant_configs(BASE, [""], {}))


def test_figures_at_the_same_place_are_of_the_same_seed(tmp_path: Path) -> None:
    """Seeds behind a missing one of the same test set are left out: they would be paired with another variant's."""
    mine, other = (table_runs.TestSet(name, f"data/{name}", "retrieval") for name in ("mine", "other"))
    done = {("a", mine): (0, 1, 2), ("b", mine): (0, 2), ("b", other): (0, 1, 2), ("c", mine): (1, 2)}
    for (variant, one), seeds in done.items():
        for seed in seeds:
            place = locate(figures_file(run_folder(str(tmp_path), variant, seed), one))
            storage.write_json(place, {"uri": one.uri, "figures": {f"{one.name}/r1": float(seed)}, "chance": {}})
    assert read_results(str(tmp_path), ["a", "b", "c"], [mine, other], 3).figures == {
        "a": {"mine/r1": (0.0, 1.0, 2.0)},
        "b": {"mine/r1": (0.0,), "other/r1": (0.0, 1.0, 2.0)},
        "c": {},
    }
