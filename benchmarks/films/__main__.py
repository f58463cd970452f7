"""Text-to-video retrieval on real films, on MSR-VTT-800's weak features and on vidrel, beside chance and baselines.

    python -m benchmarks.films --data ../shared/data/films
    python -m benchmarks.films --data ../shared/data/films --csv kept=FOLDER/films.csv     films judged whole, besides
    python -m benchmarks.films --world msrvtt-800 --data ../shared/data
    python -m benchmarks.films --world vidrel --data ../shared/data

The first writes films.md, the last films_vidrel.md, each with its figures as JSON. Every trained row searches its
learning rate on validation captions with seed 0. Other films lie in the folder `videos` beside their table.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.comparison.paired import plus_minus
from benchmarks.comparison.search import Searched
from benchmarks.films import baselines
from benchmarks.films.data import SPLITS, Sets, films, msrvtt_800, read, vidrel
from benchmarks.films.rows import RATES, WORLDS, spread, trained
from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from pipelines.arguments import parse
from vtr_core.encoders.encoder import BUNDLED, encoder
from vtr_core.errors import ConfigError

RESULTS = Path(__file__).parent.parent / "results"
METRICS = ("r1", "r5", "r10", "medr")


@dataclass(frozen=True)
class Flags:
    """Where the data is, and what to train."""

    data: str = "../shared/data/films"
    """Folder of films.csv and videos; for the other worlds the one of the folders msrvtt and vidrel."""
    world: Literal["films", "msrvtt-800", "vidrel"] = "films"
    """What to train on."""
    csv: tuple[str, ...] = ()
    """NAME=TABLE: tables (id, caption, video) of further films, which trained models are judged on as a whole."""
    rows: tuple[str, ...] = ()
    """Names of trained rows (default: all)."""
    seeds: int = 5
    """Trainings of each row's best rate."""
    work: str = "runs/films"
    """Folder for data sets and runs; what is finished in it is taken as it is."""
    out: str = str(RESULTS)
    """Folder of the page."""


def main(argv: Sequence[str]) -> None:
    """Make the data, the baselines and the rows that are missing, and write the page."""
    flags = parse(Flags, argv, "python -m benchmarks.films")
    folder, work = page_folder(flags.out), Path(flags.work) / flags.world
    is_films = flags.world == "films"
    if flags.csv and not is_films:
        raise ConfigError(f"--csv gives further films, which {flags.world} does not train for; leave it out")
    if is_films:
        sets = films(Path(flags.data), work / "data", _tables(flags.csv))
    else:
        sets = (msrvtt_800 if flags.world == "msrvtt-800" else vidrel)(Path(flags.data), work / "data")
    rows = [row for row in WORLDS[flags.world] if not flags.rows or row.name in flags.rows]
    fixed = baseline_figures(sets, with_zero_shot=is_films)
    searches = {row.name: trained(row, sets, work / "rows", flags.seeds) for row in rows}
    figures = {
        "world": flags.world,
        "sets": {name: len(read(sets.of["clips"][name]).rows) for name in sets.of["clips"]},
        "baselines": fixed,
        "rows": {
            name: {"trials": one.trials, "best": one.best, "figures": one.figures} for name, one in searches.items()
        },
        "machine": processor(),
        "versions": versions("torch", "sentence-transformers", "scikit-learn", "numpy"),
        "command": f"python -m benchmarks.films {' '.join(argv)}".strip(),
    }
    page = markdown(figures, searches, sets.judged)
    write_page(folder, "films" if is_films else f"films_{flags.world}", figures, page)
    print(page)


def _tables(named: Sequence[str]) -> dict[str, str]:
    """By name the tables of `--csv`; ConfigError for a word without a name or of a name that is taken."""
    tables = dict(word.split("=", 1) for word in named if "=" in word)
    if len(tables) < len(named) or tables.keys() & {*SPLITS, ""}:
        taken = ", ".join(SPLITS)
        raise ConfigError(f"--csv takes NAME=TABLE, each name once and none of {taken}; given {' '.join(named)}")
    return tables


def baseline_figures(sets: Sets, *, with_zero_shot: bool) -> dict[str, dict[str, dict[str, float]]]:
    """By baseline and judged set. Zero-shot needs rows of the encoder."""
    bundled, places = encoder(BUNDLED), sets.of["clips"]
    judged = {name: read(places[name]) for name in sets.judged}
    train, val = read(places["train"]), read(places["val"])
    found = {"*chance*": {name: baselines.chance(one) for name, one in judged.items()}}
    if with_zero_shot:
        found["bundled encoder, zero-shot"] = {n: baselines.zero_shot(bundled, one) for n, one in judged.items()}
    found["kernel ridge"] = baselines.ridge(bundled, train, val, judged, with_zero_shot=False)
    if with_zero_shot:
        found["kernel ridge + zero-shot"] = baselines.ridge(bundled, train, val, judged, with_zero_shot=True)
    return found


def markdown(figures: Mapping[str, Any], searches: Mapping[str, Searched], judged: Sequence[str]) -> str:
    """A table for each judged set, the searches, and the comparison in ratios."""
    sizes = figures["sets"]
    lines = [
        f"# Text to video on {figures['world']}: pretrained vectors, baselines, trained rows",
        "",
        f"{sizes['train']} videos to train on, {sizes['val']} to choose by, {sizes['test']} of other captions or other "
        "videos to test on. A caption searches all videos of its set for its own.",
    ]
    for name in judged:
        lines += ["", f"## {name}, {sizes[name]} videos", "", *_table(figures["baselines"], searches, name)]
    rows = {row.name: row for row in WORLDS[figures["world"]]}
    epochs = (f"{name} {rows[name].epochs}" for name in searches)
    lines += ["", "## Searches", "", f"Epochs of training: {'; '.join(epochs)}.", ""]
    lines += [f"| R@1 + R@5 + R@10 on val, seed 0 | {' | '.join(f'{r:g} x' for r in RATES)} |"]
    lines.append(f"|---|{'---:|' * len(RATES)}")
    for row, one in searches.items():
        cells = (f"**{v:.0f}**" if trial == one.best else f"{v:.0f}" for trial, v in one.trials.items())
        lines.append(f"| {row} | {' | '.join(cells)} |")
    versions_ = ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
    origin = f"Mean ± standard deviation over seeds. On {figures['machine']}; {versions_}; `{figures['command']}`."
    return "\n".join([*lines, "", origin, ""])


def _table(
    fixed: Mapping[str, Mapping[str, Mapping[str, float]]], searches: Mapping[str, Searched], name: str
) -> list[str]:
    reference = list(fixed)[-1]
    banks = any(f"{name}/query_bank/t2v/r10" in one.figures for one in searches.values())
    lines = [
        f"| | R@1 | R@5 | R@10 | MedR | R@10 with every film of the caption right | R@10 over {reference} |"
        + (" R@10 with a query bank |" if banks else ""),
        "|---|---:|---:|---:|---:|---:|---:|" + ("---:|" if banks else ""),
    ]
    compared = fixed[reference][name]["r10"]
    for row, of_sets in fixed.items():
        one = of_sets[name]
        cells = " | ".join(f"{one[metric]:.1f}" for metric in METRICS)
        lines.append(
            f"| {row} | {cells} | {one['same_r10']:.1f} | {one['r10'] / compared:.2f} |{' – |' if banks else ''}"
        )
    for row, found in searches.items():
        own = [found.figures[f"{name}/own/t2v/{metric}"] for metric in METRICS]
        same = found.figures.get(f"{name}/same-caption/t2v/r10")
        cells = " | ".join(f"{np.mean(values):.1f}{plus_minus(spread(values))}" for values in own)
        cells += " | –" if same is None else f" | {np.mean(same):.1f}{plus_minus(spread(same))}"
        cells += f" | {np.mean(own[2]) / compared:.2f} |"
        if banks:
            bank = found.figures.get(f"{name}/query_bank/t2v/r10")
            cells += " – |" if bank is None else f" {np.mean(bank):.1f}{plus_minus(spread(bank))} |"
        lines.append(f"| **{row}** | {cells}")
    return lines


if __name__ == "__main__":
    main(sys.argv[1:])
