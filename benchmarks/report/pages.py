"""A page of results, `<name>.md`, and its figures beside it, `<name>.json`."""

import json
import os
from pathlib import Path
from typing import Any


def page_folder(out: str | Path) -> Path:
    """The folder `out`, made where it is missing; asked for before anything is measured.

    Raises SystemExit with one line where it cannot be made or written to: what was measured would be lost at the end.
    """
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SystemExit(f"--out {folder}: {error.strerror}; give a folder, which is made if missing") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SystemExit(f"--out {folder}: nothing can be written there; give a folder of your own")
    return folder


def page_file(out: str | Path) -> Path:
    """The file `out` of a page, its folder as `page_folder` has it. Raises SystemExit, also where `out` is a folder."""
    file = Path(out)
    page_folder(file.parent)
    if file.is_dir():
        raise SystemExit(f"--out {file} is a folder; give the file of the page")
    return file


def write_page(folder: Path, name: str, figures: Any, page: str) -> None:
    """Write `figures` and the page of them."""
    (folder / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    (folder / f"{name}.md").write_text(page)
