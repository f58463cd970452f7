"""Pinned weights: where they are looked for, in which order, and by hash."""

import hashlib
import sys
from pathlib import Path

import pytest

from vtr_core.encoders.bundled import LITE0, MINILM
from vtr_core.encoders.weights import PinnedWeights, folder_fingerprint
from vtr_core.errors import CheckpointError, ConfigError

CONTENT = b"weights"


def pinned(repository: str | None = None) -> PinnedWeights:
    return PinnedWeights(
        file="w.safetensors",
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        package="vtr_carried_weights",
        distribution="vtr-carried-weights",
        repository=repository,
    )


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A package that must not be imported, a folder of VTR_WEIGHTS, and a Hugging Face cache; all without the file."""
    from huggingface_hub import constants

    package = tmp_path / "site" / "vtr_carried_weights"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    monkeypatch.setenv("VTR_WEIGHTS", str(tmp_path / "folder"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    cached = tmp_path / "cache" / "models--someone--weights"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("0123")
    snapshot = cached / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    return {"package": package / "deep", "folder": tmp_path / "folder" / "deep", "cache": snapshot}


def test_the_package_comes_before_the_folder_and_the_cache(places: dict[str, Path]) -> None:
    weights = pinned("someone/weights")
    assert not weights.is_here()
    with pytest.raises(
        ConfigError, match=r"are not here: pip install vtr-carried-weights, or put the file into .*VTR_"
    ):
        weights.find()
    for name in ("cache", "folder", "package"):
        (places[name] / weights.file).write_bytes(CONTENT)
        assert weights.find() == places[name] / weights.file
        assert weights.is_here()
    assert weights.package not in sys.modules, "nothing of a package that carries weights runs"


@pytest.mark.parametrize("name", ["cache", "folder", "package"])
def test_another_file_of_that_name_is_refused_wherever_it_lies(places: dict[str, Path], name: str) -> None:
    weights = pinned("someone/weights")
    (places["cache"] / weights.file).write_bytes(CONTENT)
    (places[name] / weights.file).write_bytes(b"other")
    with pytest.raises(CheckpointError, match=r"is not the published w.safetensors: its sha256 does not begin with "):
        weights.find()


def test_the_bundled_weights_are_found_without_their_packages_code() -> None:
    for weights in (LITE0, MINILM):
        before = set(sys.modules)
        assert weights.find().name == weights.file
        assert weights.package not in set(sys.modules) - before


def test_a_folders_fingerprint_is_of_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").touch()
    first = folder_fingerprint(tmp_path)
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "config.json").touch()
    (tmp_path / "optimizer.json").touch()
    assert folder_fingerprint(tmp_path) == first
    assert folder_fingerprint(tmp_path, {"mean": 0.5}) != first
    (tmp_path / "vocab.txt").write_text("a")
    assert folder_fingerprint(tmp_path) != first
