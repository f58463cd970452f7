"""What the targets would run, by make itself."""

import os
import subprocess

import pytest

from tests.distribution.project import ROOT

OWN = {"PATH": os.environ["PATH"]}
"""Nothing of the make that runs the tests."""


def _would_run(*words: str) -> list[str]:
    command = ["make", "--dry-run", "--always-make", *words]
    done = subprocess.run(command, cwd=ROOT, env=OWN, capture_output=True, text=True, check=True)
    return done.stdout.replace("\\\n", " ").splitlines()


def _pip(lines: list[str]) -> list[str]:
    return [line.split("bin/pip ", 1)[1] for line in lines if "bin/pip " in line]


def test_the_demo_installs_the_package_alone() -> None:
    lines = _would_run("demo")
    assert _pip(lines) == ["install --constraint constraints.txt --editable '.'"]
    assert lines[-1].endswith("vtr demo")


@pytest.mark.parametrize("target", ["test", "test-all", "types", "package"])
def test_tests_and_checks_add_what_they_need(target: str) -> None:
    for words, extras in (((), "dev"), (("EXTRAS=clip",), "dev,clip"), (("EXTRAS=faiss,dev",), "faiss,dev")):
        assert _pip(_would_run(target, *words)) == [f"install --constraint constraints.txt --editable '.[{extras}]'"]


def test_the_check_of_everything_builds_the_site() -> None:
    lines = _would_run("check")
    assert _pip(lines)[-1] == "install --constraint constraints.txt --editable '.[dev,docs]'"
    assert any(line.endswith("mkdocs build --quiet") for line in lines)


def test_the_set_up_says_what_it_fetches_before_it_does() -> None:
    lines = _would_run("install")
    assert "packages, 3.1 GB with CUDA (0.6 GB with TORCH=cpu)" in lines[0]
    assert "packages, 0.6 GB and 0.2 GB for dev" in _would_run("install", "TORCH=cpu", "EXTRAS=dev")[0]


def test_a_locked_set_up_takes_nothing_without_a_hash() -> None:
    first, second, third = _pip(_would_run("install", "LOCKED=1", "EXTRAS=postgres,numba"))
    files = [f"--requirement requirements/{name}.txt" for name in ("core", "torch", "postgres", "numba")]
    assert first == " ".join(["install --no-deps --require-hashes", *files])
    assert second == "install --no-deps --no-build-isolation --editable ."
    assert third == "check"


def test_torch_without_cuda_comes_first_and_alone() -> None:
    first, second, *_ = _pip(_would_run("install", "LOCKED=1", "TORCH=cpu"))
    index = "https://download.pytorch.org/whl/cpu"
    assert first == f"install --no-deps --index-url {index} --constraint constraints.txt torch"
    assert second == "install --no-deps --require-hashes --requirement requirements/core.txt"
    first, *_ = _pip(_would_run("install", "TORCH=cpu", "EXTRAS=clip"))
    assert first.endswith(" torch torchvision"), "which belongs to one build of torch"


def test_uv_takes_the_place_of_pip() -> None:
    lines = _would_run("install", "UV=1", "LOCKED=1")
    assert not _pip(lines)
    assert [line.split()[:3] for line in lines if line.startswith("uv ")][1:] == [
        *[["uv", "pip", "install"]] * 2,
        ["uv", "pip", "check"],
    ]


def test_another_torch_is_refused() -> None:
    done = subprocess.run(
        ["make", "-n", "demo", "TORCH=gpu"], cwd=ROOT, env=OWN, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "TORCH=gpu is not known; give TORCH=cpu" in done.stderr
