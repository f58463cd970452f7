"""A stranger finds things: a file is a concept, a folder says what lives there, and names can be searched for."""

import ast
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("vtr_core", "pipelines", "cluster", "tune_spaces")
FOLDERS = [
    folder.relative_to(ROOT)
    for root in (*PRODUCT, "benchmarks")
    for folder in [ROOT / root, *(ROOT / root).rglob("*")]
    if folder.is_dir() and list(folder.glob("*.py"))
]
MODULES = [
    file for root in PRODUCT for file in (ROOT / root).rglob("*.py") if file.name not in ("__init__.py", "__main__.py")
]
LENGTHS = {file: file.read_text().count("\n") for file in MODULES}
PARTS_OF_A_SYSTEM = {"config.py", "model.py", "task.py", "presets.py"}
"""Each system has these, and each command its `command.py`."""


def test_a_module_is_a_concept_and_not_a_function() -> None:
    short = [file for file, lines in LENGTHS.items() if lines < 50]
    assert median(LENGTHS.values()) >= 110
    assert len(short) < 0.08 * len(MODULES), sorted(str(file.relative_to(ROOT)) for file in short)
    assert len(MODULES) <= 480


def test_no_module_is_a_heap() -> None:
    assert [str(file.relative_to(ROOT)) for file, lines in LENGTHS.items() if lines > 500] == []


def test_few_lines_are_imports() -> None:
    """All lines of them: those of wrapped ones and of those inside functions, too."""
    nodes = (node for file in MODULES for node in ast.walk(ast.parse(file.read_text())))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = sum(node.end_lineno - node.lineno + 1 for node in imports if node.end_lineno)
    assert lines < 0.087 * sum(LENGTHS.values())


def test_a_files_name_can_be_searched_for() -> None:
    names = Counter(file.name for file in MODULES)
    shared = {name: count for name, count in names.items() if count > 4}
    assert shared.keys() <= PARTS_OF_A_SYSTEM | {"command.py"}, shared


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder.parts[0] != "benchmarks"], ids=str)
def test_a_package_says_what_lives_there(folder: Path) -> None:
    first = (ROOT / folder / "__init__.py").read_text().splitlines()[0]
    assert first.startswith('"""')
    assert len(first.strip('". ')) > 5
