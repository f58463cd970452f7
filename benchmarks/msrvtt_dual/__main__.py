"""The thesis's tables on held-out MSR-VTT videos: `vtr tables thesis` with its published settings, at a smaller size.

All rows are trained with one seed before the next, finished runs are taken as they are, as are figures of the page that
were made with the same settings of as many videos, and the page is written after every seed. Run from the repository:

    python -m benchmarks.msrvtt_dual --data ../shared/data --seeds 5
    python -m benchmarks.msrvtt_dual --data ../shared/data --new-seeds 10 11 12 13 14

The second command answers a question of its own, with models that no choice has seen: do the searches that hold mAP
hold it, with how much C@10? It replaces that section of the page and leaves the rest.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.comparison.paired import paired, plus_minus
from benchmarks.machine import processor, versions
from benchmarks.msrvtt_dual.data import PRESET, thesis_videos
from benchmarks.report.pages import RESULTS, origin, write_page
from pipelines.arguments import parse
from pipelines.systems.dual.thesis_rows import SET, Sets, flat, measure, tables
from pipelines.systems.dual.thesis_tables import TablesFlags
from pipelines.tables.runs import Sweep, TestSet, figures_file, run_folder
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.run.presets import preset
from vtr_core.storage import locate

VARIANTS = ("concept", "")
"""By name as in `page.NAMES`: those with concepts that are searched for."""
_SPACE = f"{SET}/concepts, "


def train_new_seeds(
    seeds: Sequence[int], sets: Sets, out: str, settings: Mapping[str, object]
) -> dict[str, dict[str, list[float]]]:
    """By variant and metric the figures by seed, of the ways to score by concepts; finished runs are taken as is."""
    rows: dict[str, dict[str, list[float]]] = {}
    for variant in VARIANTS:
        for seed in seeds:
            figures = _figures(variant, seed, sets, out, settings)
            for name, value in figures.items():
                if name.startswith(_SPACE) and name.endswith(("/map", "/sum_r", "/c10")):
                    rows.setdefault(variant, {}).setdefault(name, []).append(value)
    return rows


def _figures(variant: str, seed: int, sets: Sets, out: str, settings: Mapping[str, object]) -> dict[str, float]:
    test = TestSet(SET, sets.test, "thesis")
    folder = run_folder(out, variant, seed)
    place = locate(figures_file(folder, test))
    if not storage.exists(place):
        config = preset(f"{PRESET}-{variant}" if variant else PRESET)
        sweep = Sweep(out, str(Path(sets.train).parent), None, [test], 1, "msrvtt-dual")
        checkpoint = sweep.train(override(config, {**settings, "seed": seed}), folder)
        figures = flat(measure(checkpoint, sets, detectors=False), SET)
        storage.write_json(place, {"uri": sets.test, "figures": figures, "chance": {}})
    values: dict[str, float] = storage.read_json(place)["figures"]
    return values


NAMES = {
    "": "hybrid",
    "latent": "latent",
    "concept": "concepts alone",
    "pos-spacy": "hybrid with parts of speech",
    "concept-pos-spacy": "concepts alone with parts of speech",
}
"""By variant the name of a row."""
GOAL_C10 = 70.0
_HEADINGS = {"sum_r": "SumR", "map": "mAP", "c10": "C@10"}


@dataclass(frozen=True)
class Claim:
    """A way of scoring a row is above another in a figure; a way is (variant, space or transform)."""

    text: str
    better: tuple[str, str]
    worse: tuple[str, str]
    figure: str

    def sides(self, rows: Mapping[str, Mapping[str, Sequence[float]]]) -> tuple[Sequence[float], Sequence[float]]:
        """The figures by seed; empty where a row is not trained."""
        better, worse = (
            rows.get(variant, {}).get(f"msrvtt/{way}/{self.figure}", ()) for variant, way in (self.better, self.worse)
        )
        return better, worse


def _claims() -> list[Claim]:
    hybrid, latent, concept = ("", "two spaces"), ("latent", "latent"), ("concept", "concept")
    claims = [
        Claim("two spaces − latent", hybrid, latent, "sum_r"),
        Claim("latent − concepts alone", latent, concept, "sum_r"),
        Claim("two spaces − concepts alone", hybrid, concept, "sum_r"),
        Claim(
            "parts of speech − none, concepts alone, ambiguous queries",
            ("concept-pos-spacy", "concept, ambiguous, spacy"),
            ("concept", "concept, ambiguous, spacy"),
            "sum_r",
        ),
        Claim("parts of speech − none, hybrid", ("pos-spacy", "two spaces"), hybrid, "sum_r"),
        Claim("parts of speech − none, concepts alone", ("concept-pos-spacy", "concept"), concept, "sum_r"),
    ]
    for variant, name in (("concept", "concepts alone"), ("", "concepts of the hybrid")):
        for search in ("improved", "enough"):
            ways = (variant, f"concepts, {search}"), (variant, "concepts, original")
            claims += [Claim(f"{name}: {search} − original", *ways, figure) for figure in ("map", "sum_r", "c10")]
    return claims


def markdown(figures: Mapping[str, Any], tables_page: str) -> str:
    """The page; tables_page is that of `vtr tables thesis`, whose head is left out."""
    lines = [
        *_head(figures),
        *_differences(figures["rows"]),
        *_new_seeds(figures.get("new_seeds", {})),
        *_trained_rows(tables_page),
        "",
        origin(figures),
        "",
    ]
    return "\n".join(lines)


def _trained_rows(tables_page: str) -> list[str]:
    """The lines of the tables, without the rows that have no figure of ours."""
    lines = tables_page[tables_page.index("## Table ") :].rstrip().splitlines()
    heads = ("| Method |", "| --- |")
    lines = [line for line in lines if not line.startswith("| ") or line.startswith(heads) or "**" in line]
    return [line.replace("(spaCy)", "(bundled tagger)").replace("of spaCy", "of the bundled tagger") for line in lines]


def _head(figures: Mapping[str, Any]) -> list[str]:
    settings = ", ".join(f"{name} {value}" for name, value in figures["settings"].items() if value is not None)
    videos = figures["videos"]
    seeds = {name: _seeds(figures["rows"].get(row, {})) for row, name in NAMES.items()}
    trained = ", ".join(f"{name} {count}" for name, count in seeds.items() if count)
    return [
        "# The thesis's tables on MSR-VTT-800",
        "",
        f"{sum(videos)} videos of MSR-VTT with 50 frames of 128 features, split by video into train, val and test:",
        f"{' / '.join(map(str, videos))}. Each test caption searches for its video, each video for its captions. Word",
        "vectors are of captions, none of them of a validation or test video. The checkpoint is chosen by validation",
        "SumR, transforms are searched on the validation videos, all figures are of the test videos. Cells: the",
        "thesis's figure → ours ± half a 95 % interval. The thesis has 10,000 videos and other features: orders can be",
        "compared, levels cannot. Rows that were not trained are left out.",
        "",
        f"Beside the values of `hybrid-msrvtt-published`: {settings}. Seeds: {trained}.",
        f"Chance: R@10 {1000 / videos[2]:.1f}; [ridge regression on the same split](msrvtt_ridge.md).",
        "",
    ]


def _seeds(row: Mapping[str, Sequence[float]]) -> int:
    """Finished runs of a row; every one has a SumR by each of its ways of scoring."""
    return max((len(values) for name, values in row.items() if name.endswith("/sum_r")), default=0)


def _differences(rows: Mapping[str, Mapping[str, Sequence[float]]]) -> list[str]:
    lines = [
        "## What the thesis says",
        "",
        "Differences of runs with the same seed, in points, with 95 % intervals. improved: by the thesis's search;",
        "enough: by the search over all parameters together, the most accurate one with a C@10 of 72 % on the",
        "validation videos.",
        "",
        "| difference | in | ours | seeds | |",
        "|---|---|---:|---:|---|",
    ]
    return [*lines, *(line for claim in _claims() for line in _line(claim, rows)), ""]


def _line(claim: Claim, rows: Mapping[str, Mapping[str, Sequence[float]]]) -> list[str]:
    better, worse = claim.sides(rows)
    if not better or not worse:
        return []
    pair = paired("", "", better, worse)
    mean = f"{pair.difference.mean:+.1f}{plus_minus(pair.difference.half_width)}"
    cells = f"{_HEADINGS[claim.figure]} | {mean} | {pair.difference.seeds}"
    return [f"| {claim.text} | {cells} | {pair.verdict} |"]


def _new_seeds(measured: Mapping[str, Any]) -> list[str]:
    """Of models that were trained after all searches were fixed: what the searches change, and the C@10 they reach."""
    if not measured:
        return []
    rows: Mapping[str, Mapping[str, Sequence[float]]] = measured["rows"]
    lines = [
        "## New seeds for the search that holds mAP",
        "",
        f"Models with the same settings and the seeds {', '.join(map(str, measured['seeds']))}, trained when all",
        "searches were fixed: no choice has seen a figure of them, and no other figure of this page is of them.",
        f"Goal: a C@10 of at least {GOAL_C10:g} % with no less mAP than without a transform, by the search `enough`.",
        "",
        "| difference | in | ours | seeds | |",
        "|---|---|---:|---:|---|",
    ]
    for claim in _claims():
        if claim.worse[1].startswith("concepts, "):
            lines += _line(claim, rows)
    lines += [
        "",
        "| model | search | C@10 by seed | mAP by seed | mAP without | goal in |",
        "|---|---|---|---|---|---|",
    ]
    for variant, row in rows.items():
        lines.append(_by_seed(NAMES[variant], "enough", row))
    return [*lines, ""]


def _by_seed(name: str, search: str, row: Mapping[str, Sequence[float]]) -> str:
    c10, accuracy = (row[f"msrvtt/concepts, {search}/{figure}"] for figure in ("c10", "map"))
    plain = row["msrvtt/concepts, original/map"]
    reached = sum(c >= GOAL_C10 and now >= before for c, now, before in zip(c10, accuracy, plain, strict=True))
    cells = (", ".join(f"{value:.1f}" for value in values) for values in (c10, accuracy, plain))
    return f"| {name} | {search} | {' | '.join(cells)} | {reached} of {len(c10)} |"


SMALLER: Mapping[str, object] = {
    "model.video.hidden_dim": 64,
    "model.video.num_filters": 64,
    "model.text.hidden_dim": 64,
    "model.text.num_filters": 64,
    "batch.videos": 64,
    "batch.epoch": "videos",
    "optimizer.learning_rate": 1e-3,
    "training.epochs": 120,
    "training.validate_every": 5,
    "training.precision": "float32",
    "scaling.workers": 0,
}
"""What some 500 videos and two cores allow: encoders an eighth as wide, ten times the learning rate, 1,080 steps.

The spaces keep their published dimensions, the losses their weights, the learning rate its decay. Adam moves a weight
by at most about its learning rate a step, and concepts begin at a probability of a half: published trainings, 1,017
steps an epoch at 10⁻⁴, go in ten epochs about as far as 1,080 steps at 10⁻³.
"""
TABLES = ("3.2", "3.3", "5.2", "5.3", "5.4")


@dataclass(frozen=True)
class Flags:
    """Where the data is, where to work, and what to train how often."""

    data: str = "../shared/data"
    """Folder that holds msrvtt/annotations and msrvtt/features."""
    work: str = "runs/msrvtt-dual"
    """Folder for data sets and runs; finished runs in it are taken as they are."""
    seeds: int = 3
    """Trainings of every row."""
    new_seeds: tuple[int, ...] = ()
    """Train the hybrid and the concepts alone with these seeds in place of everything else."""
    rows: tuple[str, ...] = tuple(NAMES)
    """Variants to train, as `vtr tables thesis --rows` has them; "" is the hybrid."""


def main(argv: Sequence[str]) -> None:
    """Train what is missing, all rows with one seed before the next, and write the page after every seed."""
    flags = parse(Flags, argv, "python -m benchmarks.msrvtt_dual")
    data, work = Path(flags.data), Path(flags.work)
    if flags.new_seeds:
        plain = thesis_videos(data, work, pos=False)
        _write_new_seeds(train_new_seeds(flags.new_seeds, plain, str(work / "new-seeds"), SMALLER), flags.new_seeds)
        return
    plain, tagged = (thesis_videos(data, work, pos=pos) for pos in (False, True))
    _take_over(RESULTS / "msrvtt_dual.json", work / "tables", plain)
    for seeds in range(1, flags.seeds + 1):
        table_flags = TablesFlags(
            only=TABLES,
            preset=PRESET,
            data=str(Path(plain.train).parent),
            tagged=(f"spacy={Path(tagged.train).parent}",),
            rows=flags.rows,
            seeds=seeds,
            out=str(work / "tables"),
            experiment="msrvtt-dual",
        )
        _write(tables(table_flags, SMALLER), work / "tables", plain)


def _take_over(page: Path, out: Path, sets: Sets) -> None:
    """The page's figures as those of finished runs in `out`, where they are of the same settings and as many videos."""
    known: dict[str, Any] = json.loads(page.read_text()) if page.exists() else {}
    if (known.get("settings"), known.get("videos")) != (_settings(), _videos(sets)):
        return
    for row in NAMES:
        figures = known["rows"].get(row, {})
        for seed in range(max((len(values) for values in figures.values()), default=0)):
            file = Path(figures_file(run_folder(str(out), row, seed), TestSet(SET, sets.test, "thesis")))
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                of_seed = {name: values[seed] for name, values in figures.items() if seed < len(values)}
                file.write_text(json.dumps({"uri": sets.test, "figures": of_seed, "chance": {}}))


def _settings() -> dict[str, Any]:
    """What differs from the published preset, but for where trainings run."""
    return {name: value for name, value in SMALLER.items() if not name.startswith("scaling.")}


def _videos(sets: Sets) -> list[int]:
    return [Manifest.load(uri).videos for uri in (sets.train, sets.val, sets.test)]


def _write(tables_page: str, out: Path, sets: Sets) -> None:
    """The page of the results in the folder `out` of `vtr tables thesis`, and its figures; the new seeds stay."""
    new_seeds = _known().get("new_seeds")
    figures: dict[str, Any] = {
        "videos": _videos(sets),
        "rows": json.loads((out / "tables.json").read_text())["figures"],
        "settings": _settings(),
        "device": processor(),
        "versions": versions("torch", "ray", "numpy"),
        "command": "python -m benchmarks.msrvtt_dual --data ../shared/data --seeds 5",
        **({"new_seeds": new_seeds} if new_seeds else {}),
    }
    write_page(RESULTS, "msrvtt_dual", figures, markdown(figures, tables_page))


def _write_new_seeds(rows: Mapping[str, Any], seeds: Sequence[int]) -> None:
    """The page with the section of new seeds replaced; its tables are those that it has."""
    figures = _known() | {"new_seeds": {"seeds": list(seeds), "rows": rows}}
    page = (RESULTS / "msrvtt_dual.md").read_text()
    tables_page = page[page.index("## Table ") : page.rindex("\nOn ")]
    write_page(RESULTS, "msrvtt_dual", figures, markdown(figures, tables_page))


def _known() -> dict[str, Any]:
    page = RESULTS / "msrvtt_dual.json"
    known: dict[str, Any] = json.loads(page.read_text()) if page.exists() else {}
    return known


if __name__ == "__main__":
    main(sys.argv[1:])
