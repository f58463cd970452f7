"""Do MUSE's scales gain on video files whose captions name small things? Rendered films, from files to retrieval.

The films of `vtr demo --videos` get small shapes in their corners, and captions that name those; `imagenet-lite-tokens`
extracts the places of their frames. MUSE with two scales is compared with MUSE with one, and with the mean, each after
the same search; a linear map from the same tokens says what the mean of a frame does not hold, and its places do.

    python -m benchmarks.small_shapes
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from benchmarks.small_shapes.corners import read_out, read_tokens
from benchmarks.small_shapes.page import markdown
from benchmarks.small_shapes.rows import ROWS, row_config, search
from pipelines.arguments import parse
from pipelines.demo.films import render
from pipelines.extract.command import extract
from pipelines.extract.flags import ExtractFlags
from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.worlds.corners import corner_film

COMMAND = "python -m benchmarks.small_shapes"
RESULTS = Path(__file__).parents[1] / "results"
NUM_SMALL = 3
SPLITS = {"train": 0.66, "val": 0.12, "test": 0.22}


@dataclass(frozen=True)
class Flags:
    """How many films, how long, how often, and where to work."""

    work: str = "runs/small-shapes"
    """Folder of films, data set and runs; finished ones are taken as they are."""
    films: int = 1060
    """Films of all splits."""
    epochs: int = 30
    """Of every training."""
    seeds: int = 3
    """Trainings of every row at its best learning rate."""
    only: tuple[str, ...] = ()
    """Rows to measure (default: all)."""
    out: str = str(RESULTS)
    """Folder of the page."""


def main(argv: Sequence[str]) -> None:
    """Make the films and their tokens where they are missing, run what is missing, and write the page."""
    flags = parse(Flags, argv, COMMAND)
    out = page_folder(flags.out)
    torch.set_num_threads(1)
    data = made(Path(flags.work), flags.films)
    names = flags.only or tuple(ROWS)
    frames = row_config(names[0], 1e-3, flags.epochs).batch.max_frames
    tokens = {name: read_tokens(uri, frames) for name, uri in splits(data).items()}
    films = {
        name: corner_film(0, int(name.removeprefix("film")), NUM_SMALL) for one in tokens.values() for name in one.films
    }
    corners = read_out(tokens, films)
    given: Mapping[str, object] = {
        "films": {name: Manifest.load(uri).videos for name, uri in splits(data).items()},
        "frames": frames,
        "epochs": flags.epochs,
        "machine": processor(),
        "versions": versions("torch", "ray", "numpy", "scikit-learn"),
        "command": shlex.join([*COMMAND.split(), *argv]),
    }
    rows = {}
    for name in names:
        rows[name] = search(name, data, f"{flags.work}/runs", flags.epochs, flags.seeds)
        page = markdown(rows, corners, given)
        figures = {"rows": {name: asdict(row) for name, row in rows.items()}, "corners": corners, **given}
        write_page(out, "small_shapes", figures, page)
    print(page)


def made(work: Path, num_films: int) -> str:
    """The data set of the films' tokens, whose files are rendered and extracted where it is missing."""
    data = work / "data"
    if not splits(str(data)):
        table = render(work / "films", num_films, 0, NUM_SMALL)
        extract(
            ExtractFlags(
                str(work / "films"),
                str(data),
                captions=str(table),
                recipe=("imagenet-lite-tokens",),
                records="videos",
                splits=SPLITS,
                workers=0,
            )
        )
    return str(data)
