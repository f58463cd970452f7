"""Systems of other packages: found by their entry points, and named where they do not fit."""

from pathlib import Path

import pytest

from tests.builders.entry_points import installed
from tests.systems.linear.system import LINEAR
from vtr_core.errors import ConfigError
from vtr_core.systems.all import GROUP, OWN, installed_systems


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
