"""Table 1 of Siamese capsule networks on AT&T or LFW: rounds of unseen subjects, trained, evaluated and drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from pipelines.evaluate.evaluation_flags import device
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from pipelines.report.figures import print_link
from pipelines.systems.registry import SYSTEMS
from pipelines.systems.siamese.face_verification import evaluate
from pipelines.systems.siamese.siamese_figures import draw, drawn_model
from pipelines.systems.siamese.siamese_tables import PROG, SiameseTableFlags
from pipelines.systems.siamese.verify_faces import VerificationFlags
from pipelines.tables.layout import Results, Table, load_paper
from pipelines.tables.row_settings import check_settings, variant_configs
from pipelines.tables.runs import (
    Sweep,
    TestSet,
    as_flags,
    chosen_variants,
    read_results,
    run_folder,
    variants_of,
    write_page,
)
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import GroupSplit, folds, group_split, held_out_groups
from vtr_core.data.sources.faces import Faces
from vtr_core.data.sources.lfw import Lfw, lfw_folder
from vtr_core.data.sources.source import Drops
from vtr_core.errors import ConfigError
from vtr_core.metrics.verification import equal_error_threshold
from vtr_core.run.config import TrainConfig
from vtr_core.storage import locate
from vtr_core.storage.location import below
from vtr_core.systems.siamese.verification import encode_faces, score_pairs, siamese
from vtr_core.train.checkpoint.trained_model import read_model

PAPER = load_paper("siamese")
ATT, LFW = PAPER.tables
BASE = "scn"
"""The name of the base preset's own row in --only."""
LFW_SIZE = 100
"""Rows and columns of LFW's photographs, published with 250 × 250, as the paper resizes them."""
FEWEST_SUBJECTS, FEWEST_PAIRS = 35, 6000
"""Below which figures cannot be compared with the paper's: seven groups of five of AT&T's 40 subjects can be tested one
after the other, and View 2 of LFW has 6,000 pairs."""


@dataclass(frozen=True)
class Rounds:
    """A table's data: the subjects that train, validate and are tested in every round; of LFW the numbers of folds."""

    table: Table
    preset: str
    splits: Sequence[GroupSplit]
    source: Callable[[GroupSplit], Faces | Lfw]
    """The images and pairs of a round."""
    about: str
    """How the rounds are made, and whether the data are large enough to be compared with the paper's."""


def tables(flags: SiameseTableFlags, changes: Mapping[str, Any]) -> str:
    """Trains and evaluates missing rows, group by group, writes the page after each group, and returns it.

    At the end `figures.svg` shows the finished models of one group side by side.
    """
    rounds = face_rounds(flags)
    rows = chosen_variants(f"{PROG} --only", flags.only, variants_of([rounds.table]), BASE)
    wrong = [number for number in flags.groups if not 0 <= number < len(rounds.splits)]
    if wrong:
        raise ConfigError(f"{PROG}: there is no group {wrong[0]}; groups are 0 to {len(rounds.splits) - 1}")
    configs = variant_configs(rounds.preset, variants_of([rounds.table]), changes)
    for number in range(len(rounds.splits)):  # figures of other splits or settings are refused before any training
        if storage.exists(locate(below(flags.out, f"data/{_name(flags, number)}"))):
            _data(flags, rounds, _name(flags, number), rounds.splits[number])
        for variant, config in configs.items():
            _check_settings(flags, number, variant, override(config, {"seed": 0}))
    for number in flags.groups or range(len(rounds.splits)):
        print(f"\n=== group {number}: {', '.join(rounds.splits[number].test)}", flush=True)
        data = _data(flags, rounds, _name(flags, number), rounds.splits[number])
        if flags.margins:
            for row in rows:
                _cross_validated(flags, rounds, number, row, configs[row], data)
        else:
            _sweep(flags, number, data).run_all({row: configs[row] for row in rows})
        page = _write(flags, changes, rounds)
    _draw_figures(flags, rounds)
    return page


def _check_settings(flags: SiameseTableFlags, number: int, variant: str, config: TrainConfig) -> None:
    """RunConflict where a row's figures were made with other settings; a chosen margin is none of them."""
    folder = group_folder(flags, number)
    if not flags.margins:
        check_settings(run_folder(folder, variant, 0), config)
    for margin in flags.margins:
        run = fold_folder(margins_folder(folder, variant), margin, 0, flags.folds)
        check_settings(run, override(config, {"loss.margin": margin}))


def face_rounds(flags: SiameseTableFlags) -> Rounds:
    """The data and rounds of given flags; ConfigError where they contradict each other."""
    if (flags.faces is None) == (flags.lfw is None):
        raise ConfigError(f"{PROG} takes one of --faces FOLDER (a folder per subject) and --lfw FOLDER (a copy of LFW)")
    return _lfw_rounds(flags, flags.lfw) if flags.faces is None else _subject_rounds(flags, flags.faces)


def _subject_rounds(flags: SiameseTableFlags, root: str) -> Rounds:
    """Rounds of groups of subjects in random order."""
    subjects = [entry.video_id for entry in Faces(root=root).videos(Drops())]
    groups = held_out_groups(subjects, flags.group_size, flags.seed)
    splits = [group_split(subjects, groups, number) for number in range(len(groups))]
    if flags.margins:
        splits = [split.without_validation() for split in splits]
        training = (
            f"all others train, after {flags.folds}-fold cross-validation by subject over them for the margin (of "
            f"{', '.join(f'{margin:g}' for margin in flags.margins)}) and the threshold"
        )
    else:
        training = "the next group validates, all others train"

    def source(split: GroupSplit) -> Faces:
        return Faces(
            root=locate(root).uri,  # normalised path of the folder
            size=flags.size,
            subjects=(*split.train, *split.validation, *split.test),
            validation=split.validation,
            test=split.test,
            pair_seed=flags.seed,
        )

    used = sum(map(len, vars(splits[0]).values()))
    about = f"{len(splits)} disjoint groups of {flags.group_size} test subjects, {training}."
    preset = flags.preset or "siamese-att-small"
    return Rounds(ATT, preset, splits, source, about + _too_few(used, FEWEST_SUBJECTS, "subjects"))


def _lfw_rounds(flags: SiameseTableFlags, root: str | None) -> Rounds:
    """Every fold of View 2 tests once, the next one validates, the people of all others train."""
    assert root is not None
    if flags.margins:
        raise ConfigError("--margins is for --faces; LFW's folds validate each other, and two losses have margins")
    people, pairs, num_folds, num_pairs = lfw_folder(root)
    names = [str(fold) for fold in range(num_folds)]
    if len(names) < 3:
        raise ConfigError(f"{pairs} has {len(names)} folds; at least 3 test, validate and train (LFW's has 10)")

    def source(split: GroupSplit) -> Lfw:
        return Lfw(
            root=people,
            pairs_file=pairs,
            size=flags.size or LFW_SIZE,
            grey=False,
            validation_folds=tuple(map(int, split.validation)),
            test_folds=tuple(map(int, split.test)),
        )

    splits = [group_split(names, [(name,) for name in names], number) for number in range(len(names))]
    about = f"{len(names)} folds of View 2 test in turn, the next one validates, the people of all others train."
    preset = flags.preset or "siamese-lfw"
    return Rounds(LFW, preset, splits, source, about + _too_few(num_pairs, FEWEST_PAIRS, "pairs"))


def _too_few(size: int, fewest: int, counted: str) -> str:
    if size >= fewest:
        return ""
    few = f"the data have {size:,} {counted}, {fewest:,} are the least that can be compared"
    return f"\n\n**These figures mean nothing** beside the paper's: {few}."


def _name(flags: SiameseTableFlags, number: int) -> str:
    return f"group-{number}-refit" if flags.margins else f"group-{number}"


def group_folder(flags: SiameseTableFlags, number: int) -> str:
    """The folder of a group's runs and figures."""
    return below(flags.out, _name(flags, number))


def _data(flags: SiameseTableFlags, rounds: Rounds, name: str, split: GroupSplit) -> str:
    """The data set `name` with the subjects of each split; RunConflict if it exists with others."""
    place = below(flags.out, f"data/{name}")
    ingest(rounds.source(split), IngestFlags(out=place))
    return place


def _sweep(flags: SiameseTableFlags, number: int, data: str) -> Sweep:
    sets = [TestSet(name, below(data, name), "verification") for name in PAPER.data_sets]
    return Sweep(group_folder(flags, number), data, None, sets, 1, flags.experiment)


def _cross_validated(
    flags: SiameseTableFlags, rounds: Rounds, number: int, variant: str, config: TrainConfig, data: str
) -> None:
    """Trains a row with the margin that the folds of its non-test subjects choose, and evaluates at their threshold."""
    runs = _sweep(flags, number, data)
    if not runs.missing(run_folder(runs.out, variant, 0)):
        return
    parts = folds(rounds.splits[number].train, flags.folds, flags.seed)
    fold_data = [
        _data(flags, rounds, f"group-{number}-fold-{fold}-of-{flags.folds}", split) for fold, split in enumerate(parts)
    ]
    folder = margins_folder(runs.out, variant)
    choice = choose_margin(config, flags.margins, fold_data, folder, flags.experiment)
    storage.write_json(locate(folder) / "margins.json", vars(choice))

    def at_threshold(checkpoint: str, test_set: TestSet, *_: object) -> dict[str, Any]:
        verified = VerificationFlags(checkpoint, (test_set.uri,), choice.threshold, experiment=flags.experiment)
        (result,) = evaluate(verified)
        return {"uri": test_set.uri, "figures": result.metric_values(test_set.name), "chance": {}}

    replace(runs, measure=at_threshold).run(variant, override(config, {"loss.margin": choice.margin}))


def finished(flags: SiameseTableFlags, rounds: Rounds) -> Results:
    """By row and figure, the values of the finished groups."""
    variants = variants_of([rounds.table])
    figures: dict[str, dict[str, tuple[float, ...]]] = {variant: {} for variant in variants}
    for number in range(len(rounds.splits)):
        group = _sweep(flags, number, "")
        of_group = read_results(group.out, variants, group.test_sets, 1).figures
        for variant, values in of_group.items():
            for name, value in values.items():
                figures[variant][name] = (*figures[variant].get(name, ()), *value)
    return Results(figures)


def _write(flags: SiameseTableFlags, changes: Mapping[str, Any], rounds: Rounds) -> str:
    """Writes `tables.md` and `tables.json` of all finished groups and returns the page."""
    results = finished(flags, rounds)
    groups = {v: len(values.get("test/accuracy", ())) for v, values in results.figures.items()}
    rows = tuple(
        replace(row, note=f"{groups[row.variant or '']} of {len(rounds.splits)} groups") for row in rounds.table.rows
    )
    head = (
        f"Data: {flags.faces or flags.lfw}. Rows are variants of `{rounds.preset}`{as_flags(changes)}; {rounds.about}"
    )
    return write_page(PAPER, flags.out, head, [replace(rounds.table, rows=rows)], results)


def _draw_figures(flags: SiameseTableFlags, rounds: Rounds) -> None:
    """Writes `figures.svg`, the paper's Figures 1 and 2, of all rows that have finished the first group of any."""
    for number in range(len(rounds.splits)):
        group = _sweep(flags, number, below(flags.out, f"data/{_name(flags, number)}"))
        done = read_results(group.out, variants_of([rounds.table]), group.test_sets, 1).figures
        rows = [row for row in rounds.table.rows if row.variant is not None and done[row.variant]]
        if rows:
            test = below(group.data, "test")
            models = [drawn_model(row.title, run_folder(group.out, row.variant or "", 0), test) for row in rows]
            storage.write_bytes(locate(flags.out) / "figures.svg", draw(models))
            print_link(locate(flags.out) / "figures.svg")
            return


def margins_folder(group: str, variant: str) -> str:
    """The folder of a row's cross-validation."""
    return below(group, f"{variant or 'base'}/margins")


def fold_folder(margins: str, margin: float, fold: int, count: int) -> str:
    """The folder of a training of the cross-validation."""
    return below(margins, f"margin-{margin:g}-fold-{fold}-of-{count}")


@dataclass(frozen=True)
class MarginChoice:
    """The margin of highest mean validation metric, ties: the smallest, and its threshold."""

    metric: str
    means: Mapping[str, float]
    """Means over folds, by margin."""
    margin: float
    threshold: float
    """The equal-error threshold over the pairs of all folds, each fold scored by a model trained without it."""


def choose_margin(
    config: TrainConfig, margins: Sequence[float], fold_data: Sequence[str], folder: str, experiment: str
) -> MarginChoice:
    """Trains with every margin on every fold's data set, and chooses by their validation subjects."""
    checkpoints: dict[float, list[str]] = {}
    for margin in sorted(margins):
        changed = override(config, {"loss.margin": margin})
        checkpoints[margin] = [
            Sweep(folder, data, None, (), 1, experiment).train(
                changed, fold_folder(folder, margin, fold, len(fold_data))
            )
            for fold, data in enumerate(fold_data)
        ]
    means = {}
    for margin, of_folds in checkpoints.items():
        values = [read_model(checkpoint, SYSTEMS).progress.best_value for checkpoint in of_folds]
        assert None not in values, "every fold has validation subjects"
        means[margin] = fmean(value for value in values if value is not None)
    best = max(means, key=lambda margin: (means[margin], -margin))
    scored = []
    for checkpoint, data in zip(checkpoints[best], fold_data, strict=True):
        loaded, manifest = read_model(checkpoint, SYSTEMS, device()), Manifest.load(below(data, "val"))
        scored.append(score_pairs(encode_faces(siamese(loaded), loaded.config, manifest), manifest, loaded.config))
    threshold = equal_error_threshold(
        np.concatenate([fold.distance for fold in scored]), np.concatenate([fold.different for fold in scored])
    )
    by_margin = {f"{margin:g}": mean for margin, mean in means.items()}
    figures = ", ".join(f"{margin}: {mean:.4f}" for margin, mean in by_margin.items())
    print(f"margin {best:g} of {figures}; threshold {threshold:.4f}", flush=True)
    return MarginChoice(config.training.metric, by_margin, best, threshold)
