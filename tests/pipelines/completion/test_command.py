"""Completion: bash itself completes commands, presets, sources, flags and settings."""

import shutil
import subprocess

import pytest

from pipelines.cli import run
from pipelines.completion.scripts import SCRIPTS, setting_flags, words

CASES = [
    (["tra"], ["train"]),
    (["train", "muse-msrvtt-ti"], ["muse-msrvtt-tiny"]),
    (["ingest", "howto"], ["howto100m"]),
    (["runs", "del"], ["delete"]),
    (["train", "x", "--loss.margin.fac"], ["--loss.margin.factor"]),
    (["search", "x", "--topi"], ["--topics"]),
]


@pytest.fixture(scope="module")
def script() -> str:
    return SCRIPTS["bash"](words())


@pytest.mark.parametrize(("typed", "expected"), CASES, ids=[" ".join(typed) for typed, _ in CASES])
def test_bash_completes(typed: list[str], expected: list[str], script: str) -> None:
    given = f'COMP_WORDS=(vtr {" ".join(typed)}); COMP_CWORD={len(typed)}; _vtr; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", f"{script}\n{given}"], capture_output=True, text=True, check=True)
    assert expected[0] in done.stdout.split()
    assert all(word.startswith(typed[-1]) for word in done.stdout.split())


@pytest.mark.parametrize("shell", SCRIPTS)
def test_each_shell_can_read_its_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    run("completion", [shell])
    said = capsys.readouterr().out
    assert "capsule-howto-tiny" in said
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=said, text=True, check=True)


def test_settings_of_all_variants_are_there() -> None:
    assert {"--seed", "--loss.temperature", "--loss.margin.factor", "--model.routing.kind"} <= set(setting_flags())
    assert "--loss" not in setting_flags()
