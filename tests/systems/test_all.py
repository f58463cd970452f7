"""The list of the systems: one for each folder, whose configurations are told apart by their kinds."""

from pathlib import Path

import pytest

import vtr_core.systems
from vtr_core.errors import ConfigError
from vtr_core.run.presets import preset
from vtr_core.systems.all import OWN, SYSTEMS
from vtr_core.systems.system import System, by_name

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
