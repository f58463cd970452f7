"""A benchmark as a command: it parses flags, measures, and writes a page, `<name>.md`, and its figures, `<name>.json`.

Every page ends with where it was made, which `origin` says: the machine, the versions, and the command.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from benchmarks.machine import processor, versions
from pipelines.arguments import parse

RESULTS = Path(__file__).parents[1] / "results"
F = TypeVar("F")
Figures = dict[str, Any]


@dataclass(frozen=True)
class Benchmark(Generic[F]):
    """`python -m <module> [flags]`: measures what the flags ask for, and writes the page of the figures."""

    module: str
    flags: type[F]
    """A dataclass whose field `out` is the folder of the page."""
    measure: Callable[[F], Figures]
    """The figures. `device`, `load`, `versions` and `command` are added where they are missing."""
    markdown: Callable[[Figures], str]
    packages: tuple[str, ...] = ("torch",)
    """Whose versions the page names."""
    name: str = ""
    """Of the page (default: the module's, without its package)."""

    def main(self, argv: Sequence[str]) -> None:
        """Measure, write and print the page."""
        flags: Any = parse(self.flags, argv, f"python -m {self.module}")
        out = page_folder(flags.out)
        figures = {**self.measure(flags)}
        figures = {**about(self.module, argv, self.packages), **figures}
        page = self.markdown(figures)
        write_page(out, self.name or self.module.partition(".")[2].replace(".", "_"), figures, page)
        print(page)


def about(module: str, argv: Sequence[str], packages: Iterable[str]) -> Figures:
    """The machine and its load in the last minute, the versions, and the command that was given."""
    return {
        "device": processor(),
        "load": round(os.getloadavg()[0], 1),
        "versions": versions(*packages),
        "command": " ".join([f"python -m {module}", *argv]),
    }


def origin(figures: Mapping[str, Any]) -> str:
    """The line at the end of a page: where, with which versions and by which command it was made."""
    return f"On {figures['device']}; {numbered(figures['versions'])}; `{figures['command']}`."


def numbered(used: Mapping[str, str]) -> str:
    """Packages with their versions, in words."""
    return ", ".join(f"{name} {number}" for name, number in used.items())


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], words: int = 1) -> list[str]:
    """The lines of a table, whose first `words` columns are of words and whose others are of numbers."""
    ruler = "---|" * words + "---:|" * (len(heads) - words)
    return [_line(heads), f"|{ruler}", *map(_line, rows)]


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


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


def write_page(folder: Path, name: str, figures: Any, page: str) -> None:
    """Write `figures` and the page of them."""
    (folder / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    (folder / f"{name}.md").write_text(page)
