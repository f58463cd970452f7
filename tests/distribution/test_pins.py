"""constraints.txt and requirements/ pin the same versions of all that the package and its extras ask for."""

from pathlib import Path

import pytest

from tests.distribution.project import EXTRAS, ROOT, direct, names, pins

CONSTRAINTS = {name: version for name, (version, _) in pins(ROOT / "constraints.txt").items()}
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def _locked(name: str) -> set[str]:
    return set(pins(ROOT / "requirements" / f"{name}.txt"))


def test_there_is_a_file_for_each_extra() -> None:
    assert {file.stem for file in LOCKS} == {"core", "torch", "mamba-sources", *EXTRAS}


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.stem)
def test_versions_are_those_of_the_constraints_and_have_hashes(file: Path) -> None:
    for name, (version, hashes) in pins(file).items():
        assert CONSTRAINTS[name] == version, name
        assert hashes, name


def test_all_that_is_asked_for_is_pinned_as_asked() -> None:
    for each in [*direct(), *(item for extra in EXTRAS for item in direct(extra))]:
        (name,) = names([each])
        assert CONSTRAINTS[name] in each.specifier, each


def test_what_is_asked_for_is_locked() -> None:
    core = _locked("core") | _locked("torch")
    assert names(direct()) <= core
    for extra in set(EXTRAS) - {"mamba"}:
        assert names(direct(extra)) <= core | _locked(extra), extra
    assert names(direct("mamba")) == _locked("mamba-sources")


def test_torch_can_be_left_to_another_index() -> None:
    """requirements/torch.txt is torch and what only its CUDA build needs: without it, TORCH=cpu has all the rest."""
    assert "torch" in _locked("torch")
    changes = _locked("torch") - {"torch", "triton"}
    assert all(name.startswith(("nvidia-", "cuda-")) for name in changes)
    assert not any(_locked("torch") & _locked(file.stem) for file in LOCKS if file.stem != "torch")


def test_nothing_is_locked_twice() -> None:
    for extra in EXTRAS:
        assert not _locked("core") & _locked(extra)
