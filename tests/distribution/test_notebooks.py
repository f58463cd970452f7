"""The notebooks run from their first cell to their last, without Jupyter and without a cluster, and become pages."""

import json
from pathlib import Path
from typing import Any

import pytest

from docs.make.notebooks import LINES, NOTEBOOKS, PROGRESS, executed, page, read

FILES = sorted(NOTEBOOKS.glob("*.ipynb"))
MOST_BYTES = 200_000


def code(*sources: str) -> list[dict[str, Any]]:
    return [{"cell_type": "code", "id": str(n), "metadata": {}, "source": [text]} for n, text in enumerate(sources)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_is_a_notebook_that_others_can_open(file: Path) -> None:
    """The keys that format 4.5 asks for; outputs are small and tell nothing of the machine."""
    notebook = read(file)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        remaining = {"cell_type", "id", "metadata", "source"}
        assert cell.keys() == (
            remaining if cell["cell_type"] == "markdown" else remaining | {"execution_count", "outputs"}
        )
    assert file.stat().st_size < MOST_BYTES
    assert "/tmp/" not in file.read_text()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_its_page_has_all_cells_and_outputs(file: Path) -> None:
    text = page(file)
    for cell in read(file)["cells"]:
        assert "".join(cell["source"]) in text
        for output in cell.get("outputs", []):
            assert "".join(output.get("text", output.get("data", {}).get("image/png", ""))).rstrip() in text
    assert text.startswith("# ")
    assert f"]({file.name})" in text


def test_cells_share_variables_and_their_outputs_are_kept() -> None:
    cells = code("x = 2", f"print('/place/of/x', x)\nprint('\\n' * {2 * LINES})", "print(x + 1)")
    first, second, third = executed(cells, {}, "/place/")
    assert first["outputs"] == []
    (texts,) = second["outputs"]
    assert texts["text"][0] == "of/x 2\n"
    assert (len(texts["text"]), texts["text"][LINES // 2]) == (LINES + 1, "…\n")
    assert third["outputs"][0]["text"] == ["3\n"]
    assert [cell["execution_count"] for cell in (first, second, third)] == [1, 2, 3]


def test_progress_is_not_kept() -> None:
    """Its lines and rates differ with the load of the machine."""
    (cell,) = executed(code("print('  1 of 360 videos; 81 min left\\nkept 1 of 3')"), {}, "/place/")
    assert cell["outputs"][0]["text"] == ["kept 1 of 3\n"]
    for file in FILES:
        texts = [
            line for item in read(file)["cells"] for out in item.get("outputs", []) for line in out.get("text", [])
        ]
        assert not [line for line in texts if PROGRESS.match(line.rstrip("\n"))], file


@pytest.mark.long
@pytest.mark.integration
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_runs(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracking_store: str) -> None:
    """Every cell that told or drew something when it was stored does so again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracking_store)
    stored = read(file)["cells"]
    rerun = list(executed(stored, {"__name__": "__main__"}, f"{tmp_path}/"))
    kinds = [
        [[output["output_type"] for output in cell.get("outputs", [])] for cell in cells] for cells in (stored, rerun)
    ]
    assert kinds[0] == kinds[1]
    assert json.dumps(rerun)
