"""The names that notebooks rely on, with their arguments: an addition is recorded here, nothing else changes."""

import ast
from pathlib import Path

import pytest

import vtr_core
from tests.distribution.project import ROOT

LOAD = "(uri: str | Path, device: str | None=None) -> Model"
MODEL = {
    "uri": "(self) -> str",
    "features": "(self) -> Mapping[str, int]",
    "concepts": "(self) -> tuple[str, ...]",
    "encode_text": "(self, texts: str | Sequence[str]) -> Encoded",
    "encode_video": "(self, videos: Rows | Mapping[str, Rows], weights: Mapping[str, str] | None=None) -> Encoded",
    "encode_audio": "(self, sounds: Rows, weights: Mapping[str, str] | None=None) -> Encoded",
    "similarity": "(self, queries: Encoded, items: Encoded) -> Float32[np.ndarray, 'queries items']",
    "explain": "(self, query: str, videos: Encoded, k: int=5, tags: int=10, ids: Sequence[str] | None=None)"
    " -> tuple[HitExplanation, ...]",
}
INDEX = {
    "open": "(cls, uri: str | Path, model: Model | str | Path | None=None, options: SearchOptions | None=None)"
    " -> 'Index'",
    "description": "(self) -> str",
    "search": "(self, query: str, k: int=10, filters: Sequence[str]=()) -> tuple[Hit, ...]",
    "explain": "(self, query: str, k: int=5, tags: int=10) -> tuple[HitExplanation, ...]",
    "not_known": "(self, query: str) -> tuple[str, ...]",
    "search_all": "(self, queries: Sequence[str], k: int=10, filters: Sequence[str]=())"
    " -> list[tuple[Hit, ...] | None]",
}


def signatures(body: list[ast.stmt]) -> dict[str, str]:
    """Of the public functions among some statements."""
    found = [node for node in body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    return {one.name: f"({ast.unparse(one.args)}) -> {ast.unparse(one.returns)}" for one in found if one.returns}


def written(file: Path) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """The signatures of a module's functions, and of the methods of its classes."""
    body = ast.parse(file.read_text()).body
    return signatures(body), {one.name: signatures(one.body) for one in body if isinstance(one, ast.ClassDef)}


def test_signatures_are_the_recorded_ones() -> None:
    functions, classes = written(ROOT / "vtr_core" / "api.py")
    assert functions["load"] == LOAD
    assert (classes["Model"], classes["Index"]) == (MODEL, INDEX)


def test_names_are_where_they_were() -> None:
    assert vtr_core.__all__ == ["Encoded", "Encoder", "Hit", "Index", "Model", "encoder", "load"]
    for name in vtr_core.__all__:
        assert callable(getattr(vtr_core, name))
        assert name in dir(vtr_core)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = vtr_core.nothing  # type: ignore[attr-defined]
