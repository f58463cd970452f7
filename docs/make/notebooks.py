"""Notebooks: run cell by cell without Jupyter, and as pages of the site.

`python -m docs.make.notebooks` runs all of docs/notebooks anew, each in a folder of its own, and stores what they print
and draw. `python -m docs.make.notebooks NAME` runs one.
"""

import base64
import contextlib
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.make.navigation import DOCS

NOTEBOOKS = DOCS / "notebooks"
LINES = 30
"""Of one cell's output, at most; the rest is left out from its middle."""
PROGRESS = re.compile(r"^  [\d,]+ of [\d,]+ \w+(;.*)?$")
"""Lines on how far long work is, whose number and rates are the machine's; they are not kept."""
Cell = dict[str, Any]


def main(names: Sequence[str]) -> None:
    """Run the notebooks of these names, or all, and store their outputs."""
    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not names or file.stem in names:
            notebook = read(file)
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                notebook["cells"] = list(executed(notebook["cells"], {"__name__": "__main__"}, f"{os.getcwd()}/"))
            file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def read(file: Path) -> dict[str, Any]:
    """The content of a notebook of format 4; its cells' sources are lists of lines."""
    notebook: dict[str, Any] = json.loads(file.read_text())
    return notebook


def executed(cells: Sequence[Mapping[str, Any]], names: dict[str, Any], folder: str) -> Iterator[Cell]:
    """The cells with what they print and draw, after each has run; all share the variables `names`.

    Paths below `folder` are shown as relative ones. A cell that fails raises its error.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    count = 0
    for cell in cells:
        if cell["cell_type"] != "code":
            yield dict(cell)
            continue
        count += 1
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile("".join(cell["source"]), f"<cell {count}>", "exec"), names)
        printed = _shortened(_lasting(said.getvalue().replace(folder, "")))
        stream = [{"output_type": "stream", "name": "stdout", "text": printed}] if printed else []
        yield {**cell, "execution_count": count, "outputs": [*stream, *_drawn()]}


def _lasting(text: str) -> list[str]:
    """The lines, without those on progress."""
    return [line for line in text.splitlines(keepends=True) if not PROGRESS.match(line.rstrip("\n"))]


def _shortened(lines: list[str]) -> list[str]:
    half = LINES // 2
    return lines if len(lines) <= LINES else [*lines[:half], "…\n", *lines[-half:]]


def _drawn() -> Iterator[Cell]:
    """The open figures of pyplot, which are closed."""
    from matplotlib import pyplot as plt

    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, format="png", dpi=72)
        plt.close(number)
        data = {"image/png": base64.b64encode(picture.getvalue()).decode()}
        yield {"output_type": "display_data", "data": data, "metadata": {}}


def notebook_pages() -> dict[str, str]:
    """A page in Markdown for each notebook, by its path on the site."""
    return {f"notebooks/{file.stem}.md": page(file) for file in sorted(NOTEBOOKS.glob("*.ipynb"))}


def page(file: Path) -> str:
    """The notebook's cells, code with what it printed and drew when it was stored."""
    parts = [part for cell in read(file)["cells"] for part in _cell(cell)]
    told = f"[This page as a notebook]({file.name}); it runs on a laptop, without a cluster."
    return "\n\n".join([parts[0], told, *parts[1:]]) + "\n"


def _cell(cell: Mapping[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        yield source
        return
    yield f"~~~python\n{source}\n~~~"
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            yield f"~~~text\n{''.join(output['text']).rstrip()}\n~~~"
        else:
            yield f"![What the cell draws](data:image/png;base64,{output['data']['image/png']})"


if __name__ == "__main__":
    main(sys.argv[1:])
