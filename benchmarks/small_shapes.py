"""Do MUSE's scales gain on video files whose captions name small things? Rendered films, from files to retrieval.

Films of six small shapes, in which only the pairs of colour and form differ, are rendered, encoded and extracted by
`imagenet-lite-tokens`. MUSE with the places of a frame is compared with MUSE without them, and with the mean, each
at the learning rate that finds most on validation films.

    python -m benchmarks.small_shapes

Where films and tokens are made already, several processes with --only can each train some rows; one without it then
writes the page.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from sklearn.linear_model import RidgeClassifier

from benchmarks.comparison.rows import World, search_rows, write
from benchmarks.crowds import CROWD_COLOURS, Crowd, crowd, render_crowds
from pipelines.arguments import parse
from pipelines.extract.command import ExtractFlags, extract
from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.evaluated_rows import video_rows
from vtr_core.errors import ConfigError

GRID, _AROUND, _CHUNK = 7, 1, 64
_STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0)
SOURCES = ("commonest", "mean of the frame", "tokens of its place")


@dataclass(frozen=True)
class Tokens:
    """The tokens of films, mean over their frames."""

    values: Float[np.ndarray, "films tokens dim"]
    """The frame's mean first, and then 7 × 7 places."""
    films: tuple[str, ...]


def read_tokens(uri: str, max_frames: int) -> Tokens:
    """The tokens of a data set, as a model sees them with at most `max_frames` frames."""
    manifest, values, films = Manifest.load(uri), [], list[str]()
    for rows in video_rows(manifest, row_groups(manifest), max_frames, _CHUNK):
        for place, name in enumerate(rows.video_id):
            frames = rows.frames["video"][place][rows.mask["video"][place]].float()
            values.append(frames.unflatten(1, (1 + GRID**2, -1)).mean(dim=0).numpy())
            films.append(name)
    return Tokens(np.stack(values), tuple(films))


def near(tokens: Float[np.ndarray, "tokens dim"], point: tuple[float, float]) -> Float[np.ndarray, " dim"]:
    """The maximum over the 3 × 3 places around a point of the picture, as far as there are."""
    across, down = (int(value * GRID) for value in point)
    rows, columns = (slice(max(0, place - _AROUND), place + _AROUND + 1) for place in (down, across))
    nearby: Float[np.ndarray, " dim"] = tokens[1:].reshape(GRID, GRID, -1)[rows, columns].max(axis=(0, 1))
    return nearby


def read_out(sets: Mapping[str, Tokens], films: Mapping[str, Crowd]) -> dict[str, float]:
    """By SOURCES the share of test films, mean over colours, of which a linear map tells the form that has the colour.

    sets: train, val and test. Ridge regression to classes, from standardised values; its strength is chosen on
    validation films. "commonest" is the training films' commonest form.
    """
    scores: dict[str, list[float]] = {name: [] for name in SOURCES}
    for number in range(len(CROWD_COLOURS)):
        shown = {name: [films[film].small[number] for film in tokens.films] for name, tokens in sets.items()}
        shapes = {name: np.array([small.shape for small in each]) for name, each in shown.items()}
        names, counts = np.unique(shapes["train"], return_counts=True)
        scores["commonest"].append(float((shapes["test"] == names[counts.argmax()]).mean()))
        scores["mean of the frame"].append(
            _accuracy({name: tokens.values[:, 0] for name, tokens in sets.items()}, shapes)
        )
        places = {
            name: np.stack([near(each, small.at(0.5)) for each, small in zip(tokens.values, shown[name], strict=True)])
            for name, tokens in sets.items()
        }
        scores["tokens of its place"].append(_accuracy(places, shapes))
    return {name: 100 * float(np.mean(values)) for name, values in scores.items()}


def _accuracy(features: Mapping[str, Float[np.ndarray, "films dim"]], shapes: Mapping[str, np.ndarray]) -> float:
    middle, spread = features["train"].mean(axis=0), features["train"].std(axis=0) + 1e-3
    scaled = {name: (values - middle) / spread for name, values in features.items()}
    dim = scaled["train"].shape[1]
    maps = [RidgeClassifier(alpha=strength * dim).fit(scaled["train"], shapes["train"]) for strength in _STRENGTHS]
    best = max(maps, key=lambda linear: linear.score(scaled["val"], shapes["val"]))
    return float(best.score(scaled["test"], shapes["test"]))


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
    rows = selected(flags.only)
    data = made(Path(flags.work), flags.films)
    length = {"training.epochs": flags.epochs, "training.validate_every": max(1, flags.epochs // 5)}
    changes = {**SHARED, **length}
    results, searches = search_rows(rows, data, f"{flags.work}/runs", flags.seeds, changes, "small-shapes")
    if flags.only:
        return
    tokens = {name: read_tokens(uri, _FRAMES) for name, uri in data.items()}
    world = replace(WORLD, note=note(data, flags.epochs, readable(tokens)))
    write(world, results, "small_shapes", shlex.join([*COMMAND.split(), *argv]), searches)


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
        table = render_crowds(work / "films", num_films, 0)
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


def readable(tokens: Mapping[str, Tokens]) -> Mapping[str, float]:
    """What a linear map reads of films named as `render_crowds` names them."""
    films = {name: crowd(0, int(name.removeprefix("film"))) for films in tokens.values() for name in films.films}
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


if __name__ == "__main__":
    main(sys.argv[1:])
