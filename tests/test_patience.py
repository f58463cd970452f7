"""How long commands wait is said in seconds by environment variables."""

import pytest

from vtr_core.errors import ConfigError
from vtr_core.patience import RAY, SETTINGS


@pytest.mark.parametrize(("text", "expected"), [("0", 0.0), ("2.5", 2.5), ("", RAY.default_s)])
def test_the_variable_says_how_long(text: str, expected: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RAY.variable, text)
    assert RAY.seconds() == expected


def test_without_the_variables_a_slow_machine_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in SETTINGS:
        monkeypatch.delenv(setting.variable, raising=False)
        assert setting.seconds() >= 120


@pytest.mark.parametrize("text", ["soon", "-1", "inf", "nan"])
def test_what_is_no_number_of_seconds_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RAY.variable, text)
    with pytest.raises(ConfigError, match=r"VTR_RAY_PATIENCE_S is .*; it must be a number of seconds, 0 or more"):
        RAY.seconds()
