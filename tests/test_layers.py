"""Imports run one way: no contract has an exemption, and circles, with imports inside functions counted, stay small."""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).parents[1]
PRODUCT = ("vtr_core", "pipelines", "cluster", "tune_spaces")
LARGEST_CIRCLE = 12


def module_files(root: Path) -> dict[str, Path]:
    """The product's files by module name."""
    files = {file.relative_to(root).with_suffix(""): file for name in PRODUCT for file in (root / name).rglob("*.py")}
    return {".".join(path.parts).removesuffix(".__init__"): file for path, file in files.items()}


def imported(file: Path) -> Iterator[str]:
    """Every name that a file imports, also inside functions; not what is for the type checker alone."""
    waiting: list[ast.AST] = [ast.parse(file.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting.extend(node.orelse)
            continue
        waiting.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} has a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def circles(files: Mapping[str, Path]) -> list[list[str]]:
    """The groups of modules that import each other, over any number of steps, largest first."""
    number = {name: row for row, name in enumerate(files)}
    edges = set()
    for name, file in files.items():
        for target in imported(file):
            module = target if target in number else target.rpartition(".")[0]
            if module in number and module != name:
                edges.add((number[name], number[module]))
    rows, columns = zip(*edges, strict=True)
    graph = csr_array(([1] * len(edges), (rows, columns)), shape=(len(number), len(number)))
    _, labels = connected_components(graph, directed=True, connection="strong")
    groups: dict[int, list[str]] = {}
    for name, label in zip(number, labels.tolist(), strict=True):
        groups.setdefault(label, []).append(name)
    return sorted(groups.values(), key=len, reverse=True)


def test_no_circle_of_imports_is_larger_than_a_system() -> None:
    largest = circles(module_files(ROOT))[0]
    assert len(largest) <= LARGEST_CIRCLE, largest


def test_no_contract_has_an_exemption() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert [contract["name"] for contract in contracts if contract.get("ignore_imports")] == []


@pytest.mark.parametrize(("first", "size"), [("def use():\n    import pipelines.second", 3), ("second = 1", 1)])
def test_imports_inside_functions_are_counted(first: str, size: int, tmp_path: Path) -> None:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "vtr_core").mkdir()
    (tmp_path / "pipelines/first.py").write_text(first)
    (tmp_path / "pipelines/second.py").write_text("from vtr_core import third")
    (tmp_path / "vtr_core/third.py").write_text("from pipelines.first import use")
    assert len(circles(module_files(tmp_path))[0]) == size
