"""Systems by their kinds: the own ones, installed ones, configurations from JSON."""

import pickle
from pathlib import Path

import pytest

import vtr_core.systems
from pipelines.systems.registry import SYSTEMS as WITH_COMMANDS
from tests.builders.entry_points import installed
from tests.builders.toy import toy_dataset
from tests.systems.linear.presets import LINEAR_PRESETS
from tests.systems.linear.system import LINEAR
from vtr_core.config.losses import MaskedMarginSoftmaxConfig
from vtr_core.config.override import override
from vtr_core.config.run import TrainConfig, base_config
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.run.build import build_task
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.systems.all import GROUP, OWN, SYSTEMS, installed_systems
from vtr_core.systems.system import System, Systems, by_name
from vtr_core.train.checkpoint import load_model
from vtr_core.train.checkpoint.run_folder import RunFolder, RunRecord
from vtr_core.train.checkpoint.trained_model import read_model
from vtr_core.train.fleet.lease import Lease
from vtr_core.train.job import Job
from vtr_core.train.loop.worker import fit_in_process

HANDED = Systems((*SYSTEMS, LINEAR))
"""With a system that no installed package offers."""


@pytest.mark.parametrize(
    "name", ["capsule-howto-tiny", "hybrid-msrvtt-tiny", "siamese-att-tiny", "caption-msrvtt-tiny"]
)
def test_json_becomes_the_configuration_that_it_was(name: str) -> None:
    config = preset(name)
    assert SYSTEMS.config(config.model_dump(mode="json")) == config
    assert pickle.loads(pickle.dumps(config)) == config


def test_what_is_handed_to_workers_can_be_pickled_and_reads_the_same() -> None:
    received = pickle.loads(pickle.dumps(WITH_COMMANDS))
    assert [system.name for system in received] == [system.name for system in WITH_COMMANDS]
    values = preset("muse-msrvtt-tiny").model_dump(mode="json")
    assert received.config(values) == WITH_COMMANDS.config(values)


def test_a_run_asks_the_systems_that_it_is_handed_and_no_list(tmp_path: Path) -> None:
    """Trained, resumed and loaded, though `SYSTEMS` does not have it."""
    data = toy_dataset(tmp_path / "data", clips_of=[3] * 8)[0]
    changes = {"batch.videos": 4, "batch.clips_per_video": 1, "training.epochs": 1, "scaling.workers": 0}
    config = with_inputs(override(base_config(LINEAR_PRESETS.bases, "linear-tiny", "linear-tiny"), changes), data)
    folder = RunFolder.at(str(tmp_path / "run"))
    folder.claim(RunRecord(data.uri, None, data.fingerprint, "sqlite:///x", "e"), config)
    longer = override(config, {"training.epochs": 2})
    for part in (config, longer):
        folder.write_config(part)
        with Lease.take(folder.location) as lease:
            job = Job(part, HANDED, folder.location.uri, data.uri, None, None, {}, lease.number)
            fit_in_process(job, lambda report: None, lambda: False)
    loaded = read_model(folder.location.uri, HANDED)
    assert loaded.config == folder.read(HANDED)[1] == longer
    assert loaded.progress.step == 4
    with pytest.raises(CheckpointError, match="is of a 'linear' model that this code cannot read"):
        load_model(folder.location.uri)


def test_a_change_may_choose_another_model_of_the_system_alone() -> None:
    config = preset("capsule-howto-tiny")
    assert override(config, {"model.kind": "fully_connected"}).model.kind == "fully_connected"
    with pytest.raises(ConfigError, match=r"^model: .*'muse'.* 'capsule_net', 'fully_connected'"):
        override(config, {"model.kind": "muse"})


def test_plain_values_need_the_systems_that_know_their_kind() -> None:
    with pytest.raises(ValueError, match=r"Systems\.config"):
        TrainConfig.model_validate(preset("capsule-howto-tiny").model_dump())


def test_a_loss_is_one_that_the_model_takes() -> None:
    with pytest.raises(ConfigError, match="'siamese' and 'pair_contrastive' or 'pair_double_margin' go together"):
        override(preset("siamese-att-tiny"), {"loss.kind": "info_nce"})
    with pytest.raises(ConfigError, match=r"'muse' takes a loss of one joint space, .*'info_nce'"):
        override(preset("muse-msrvtt-tiny"), {"loss.kind": "dual_triplet"})
    with pytest.raises(ConfigError, match="go together, and with no other"):
        build_task(preset("siamese-att-tiny").model_copy(update={"loss": MaskedMarginSoftmaxConfig()}), 0, 1)


def test_the_schema_has_all_models_and_losses() -> None:
    schema = HANDED.schema()
    kinds = {config.model_fields["kind"].default for system in HANDED for config in (*system.configs, *system.losses)}
    found = {
        part["properties"]["kind"].get("const") for part in schema["$defs"].values() if "kind" in part["properties"]
    }
    assert kinds <= found
    assert list(schema["properties"]) == list(TrainConfig.model_fields)


(FOLDER,) = map(Path, vtr_core.systems.__path__)


def test_every_folder_of_a_system_is_listed() -> None:
    assert {system.name for system in OWN} == {place.parent.name for place in FOLDER.glob("*/presets.py")}


def test_kinds_tell_models_apart_and_losses() -> None:
    for configs in (
        [config for system in SYSTEMS for config in system.configs],
        [config for system in SYSTEMS for config in system.losses],
    ):
        kinds = [config.model_fields["kind"].default for config in configs]
        assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_its_presets_and_spaces_are_of_the_system(system: System) -> None:
    table = system.presets()
    for base, row in table.bases.items():
        for name in (base, *(f"{base}-{variant}" for variant in table.variants if row.varied)):
            config = preset(name)
            assert config.preset == name
            assert config.model.system() is system
    for space in table.spaces:
        assert preset(space.preset).model.system() is system


def test_a_name_is_of_one_system() -> None:
    assert by_name([("a", 1), ("b", 2)], "a preset") == {"a": 1, "b": 2}
    with pytest.raises(ConfigError, match="two systems have a preset called 'a'; rename one"):
        by_name([("a", 1), ("a", 2)], "a preset")


def test_every_configuration_of_a_model_knows_its_system() -> None:
    assert all(config.system() is system for system in SYSTEMS for config in system.configs)


def test_an_installed_system_stands_beside_the_own_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(installed(tmp_path, GROUP, "linear", "tests.systems.linear.system:LINEAR"))
    assert installed_systems(OWN) == (LINEAR,)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("nowhere.at:ALL", r"nowhere\.at:ALL of the package other-package cannot be imported \(ModuleNotFoundError"),
        ("json:loads", r"is a function; it must be a vtr_core\.systems\.system\.System"),
        ("vtr_core.systems.muse.config:MUSE", "has the name 'muse', which another system has too"),
    ],
)
def test_what_does_not_fit_is_named(value: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(installed(tmp_path, GROUP, "other", value))
    with pytest.raises(ConfigError, match=message):
        installed_systems(OWN)
