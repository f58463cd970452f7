"""A paper's tables from the runs of a folder: one run per row and seed, each done once; then the page."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from pipelines.arguments import check_counts
from pipelines.evaluate.evaluation_flags import EvaluateFlags, LocalizationFlags
from pipelines.evaluate.localization import evaluate as evaluate_localization
from pipelines.evaluate.retrieval import evaluate as evaluate_retrieval
from pipelines.report.figures import print_link
from pipelines.systems.registry import SYSTEMS
from pipelines.tables.command import PaperTablesFlags
from pipelines.tables.layout import OwnSet, Paper, Results, Row, Table, markdown
from pipelines.tables.row_settings import (
    PUBLISHED,
    check_settings,
    deviations,
    first_alike,
    settings_file,
    settings_of,
    variant_configs,
)
from pipelines.train.command import TrainFlags, resume, train
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest, training_sets
from vtr_core.embedding.rankings import Protocol, metric_values
from vtr_core.errors import ConfigError, RunConflict, nearest
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.storage.location import below
from vtr_core.train.checkpoint.run_folder import RunFolder


@dataclass(frozen=True)
class TestSet:
    """A test set of a table."""

    name: str
    uri: str
    kind: str
    """A task of `vtr evaluate`: "retrieval", "localization", or that of a system."""


def parse_test_set(word: str, kind: str) -> TestSet:
    """The test set that `name=URI` names; ConfigError for anything else."""
    name, equals, uri = word.partition("=")
    if not equals or not name or not uri:
        raise ConfigError(f"{word!r} is no data set; write name=URI, for instance msrvtt=s3://bucket/msrvtt-1k-a")
    return TestSet(name, uri, kind)


def check_sets(base: str, data: str, validation: str | None, test_sets: Sequence[TestSet]) -> None:
    """DatasetError unless every data set is complete and has the features of a model of the preset `base`."""
    from vtr_core.data.records.schema import require_steps
    from vtr_core.data.shards.shard_file import usable
    from vtr_core.run.inputs import usable_data, with_inputs

    config = preset(base)
    training, judged = training_sets(data, validation)
    config = with_inputs(config, usable_data(config.model, training))
    if judged is not None:
        usable_data(config.model, judged)
    space = config.model.system().implementation().retrieval
    for test_set in test_sets:
        if test_set.kind == "localization":
            manifest = usable(test_set.uri, require_steps)
        else:
            manifest = usable_data(config.model, test_set.uri)
        if space is not None:
            space.check(config, manifest)


@dataclass(frozen=True)
class Sweep:
    """All runs of a set of tables, in one folder."""

    out: str
    data: str
    validation: str | None
    test_sets: Sequence[TestSet]
    seeds: int
    experiment: str
    measure: Callable[[str, TestSet, str, int], dict[str, Any]] | None = None
    """Evaluates a checkpoint on a test set, with the run's folder and seed; None: the task of `vtr evaluate`."""
    init: str | None = None
    """Model that every training begins with, as `vtr train --init` has it; None: from random weights."""
    concepts: str | None = None
    """Concept table of the training data, as `vtr train --concepts` has it; None: the one in or beside the data."""

    def run_all(self, configs: Mapping[str, TrainConfig]) -> None:
        """`run` the configuration of every variant.

        RunConflict, before anything is trained, where a row of the folder was made with other settings.
        """
        for variant, config in configs.items():
            self._check(variant, config)
        folders = [run_folder(self.out, *run) for run in product(configs, range(self.seeds))]
        progress = _Progress(sum(bool(self.missing(folder)) for folder in folders))
        print(f"{len(configs)} rows × {self.seeds} seeds: {progress.runs} trainings are missing", flush=True)
        for variant, config in configs.items():
            self.run(variant, config, progress)

    def _check(self, variant: str, config: TrainConfig) -> None:
        """RunConflict where a run had other settings, was trained on other data or began with another model, or has
        figures of another test set of the same name.
        """
        for seed in range(self.seeds):
            folder = run_folder(self.out, variant, seed)
            check_settings(folder, override(config, {"seed": seed}))
            if storage.exists(locate(folder) / "run.json"):
                trained = RunFolder.at(folder).read(SYSTEMS)[0]
                if trained.data_fingerprint != Manifest.load(training_sets(self.data, self.validation)[0]).fingerprint:
                    raise RunConflict(
                        f"{folder} was trained on {trained.data}; give that data set, or these another --out"
                    )
                begun = "" if trained.init is None else f"{trained.init}/"  # a checkpoint of the run that was given
                given = "" if self.init is None else f"{locate(self.init).uri.rstrip('/')}/"
                if not begun.startswith(given) or bool(begun) != bool(given):
                    raise RunConflict(
                        f"{folder} began with {trained.init or 'random weights'}, not with "
                        f"{self.init or 'random weights'}; give another --out"
                    )
            for test_set in self.test_sets:
                place = locate(figures_file(folder, test_set))
                made_of = storage.read_json(place)["uri"] if storage.exists(place) else test_set.uri
                if locate(made_of).uri != locate(test_set.uri).uri:
                    raise RunConflict(
                        f"{folder} has figures for {test_set.name} of {made_of}; give that data set, or these another "
                        "--out"
                    )

    def missing(self, folder: str) -> list[TestSet]:
        """The test sets of which a run has no figures yet."""
        return [test_set for test_set in self.test_sets if not storage.exists(locate(figures_file(folder, test_set)))]

    def run(self, variant: str, config: TrainConfig, progress: "_Progress | None" = None) -> None:
        """Train and evaluate `config` with every seed; finished parts of earlier calls are reused."""
        self._check(variant, config)
        for seed in range(self.seeds):
            folder = run_folder(self.out, variant, seed)
            missing = self.missing(folder)
            if not missing:
                continue
            print(f"\n=== {config.preset}, seed {seed}", flush=True)
            checkpoint = self.train(override(config, {"seed": seed}), folder)
            for test_set in missing:
                if self.measure is None:
                    figures = _evaluated(checkpoint, test_set, self.experiment)
                else:
                    figures = self.measure(checkpoint, test_set, folder, seed)
                storage.write_json(locate(figures_file(folder, test_set)), figures)
            if progress is not None:
                print(progress.done(), flush=True)

    def train(self, config: TrainConfig, folder: str) -> str:
        """Train, and return the run's checkpoint; interrupted runs are resumed, finished ones reused."""
        storage.write_json(locate(settings_file(folder)), settings_of(config))
        if storage.exists(locate(folder) / "run.json"):
            data, validation = training_sets(self.data, self.validation)
            return resume(folder, named={"data": data, "validation": validation}).checkpoint
        flags = TrainFlags(
            data=self.data,
            validation=self.validation,
            out=folder,
            init=self.init,
            concepts=self.concepts,
            experiment=self.experiment,
        )
        return train(config, flags).checkpoint


class _Progress:
    """How many trainings of a page are done, and how long the others take if they are like those."""

    def __init__(self, runs: int) -> None:
        self.runs, self._done, self._start = runs, 0, time.monotonic()

    def done(self) -> str:
        """Another one is done."""
        self._done += 1
        left = (time.monotonic() - self._start) / self._done * (self.runs - self._done)
        return f"{self._done} of {self.runs} trainings; about {left / 60:.0f} min left if the others take as long"


def run_folder(out: str, variant: str, seed: int) -> str:
    """The folder of a run."""
    return below(out, f"{variant or 'base'}/seed-{seed}")


def figures_file(folder: str, test_set: TestSet) -> str:
    """The file of a run's metrics on a test set."""
    return below(folder, f"figures-{test_set.name}.json")


def _evaluated(checkpoint: str, test_set: TestSet, experiment: str) -> dict[str, Any]:
    """The metrics by a task of `vtr evaluate`, and where it has them those of chance and the similarities."""
    name, uri, more = test_set.name, test_set.uri, dict[str, Any]()
    if test_set.kind == "localization":
        (steps,) = evaluate_localization(LocalizationFlags(checkpoint, (uri,), experiment=experiment))
        figures, chance = steps.metric_values(name), steps.metric_values(name, "chance")
    elif test_set.kind == "retrieval":
        (result,) = evaluate_retrieval(EvaluateFlags(checkpoint, (uri,), experiment=experiment))
        figures, chance = metric_values(result.directions, name), {}
        for direction in result.directions:
            recall = {f"{name}/{direction.name}/r{k}": 100 * v for k, v in direction.chance.recall.items()}
            chance |= {**recall, f"{name}/{direction.name}/medr": direction.chance.median_rank}
        more = {} if result.protocol is None else result.protocol.flat()
    else:
        tasks = {task.name: task for system in SYSTEMS for task in system.evaluations}
        of_task = tasks[test_set.kind].figures
        assert of_task is not None, f"{test_set.kind} has no figures for tables"
        figures, chance = dict(of_task(checkpoint, uri, name, experiment)), {}
    return {"uri": uri, "figures": figures, "chance": chance, **more}


def read_results(out: str, variants: Sequence[str], test_sets: Sequence[TestSet], seeds: int) -> Results:
    """The results of the finished runs in a folder: by test set those of seeds 0, 1, … up to the first missing one.

    So the same place among the figures of two variants is the same seed.
    """
    figures: dict[str, dict[str, tuple[float, ...]]] = {}
    chance: dict[str, float] = {}
    similarities: dict[str, str] = {}
    for variant in variants:
        by_name: dict[str, list[float]] = {}
        for test_set in test_sets:
            for seed in range(seeds):
                place = locate(figures_file(run_folder(out, variant, seed), test_set))
                if not storage.exists(place):
                    break
                values = storage.read_json(place)
                for name, value in values["figures"].items():
                    by_name.setdefault(name, []).append(value)
                chance |= values["chance"]
                if "similarity_judged_by" in values:
                    similarities[variant] = str(Protocol.from_flat(values))
        figures[variant] = {name: tuple(values) for name, values in by_name.items()}
    return Results(figures, chance, similarities=similarities)


def chosen_tables(paper: Paper, flags: PaperTablesFlags) -> list[Table]:
    """The tables of --only, or all; ConfigError for unknown tables."""
    numbers = {str(number) for number in flags.only}
    chosen = [table for table in paper.tables if not numbers or str(table.number) in numbers]
    if not chosen:
        every = ", ".join(str(table.number) for table in paper.tables)
        raise ConfigError(f"--only {' '.join(sorted(numbers))}: the paper has tables {every}")
    return chosen


def variants_of(tables: Sequence[Table]) -> list[str]:
    """The preset variants of the tables' rows, without duplicates."""
    return list(dict.fromkeys(row.variant for table in tables for row in table.rows if row.variant is not None))


def chosen_variants(flag: str, names: Sequence[str], variants: Sequence[str], base: str) -> list[str]:
    """The variants that a flag names, `base` being the preset itself, or all; ConfigError for an unknown name."""
    by_name = {variant or base: variant for variant in variants}
    for name in names:
        if name not in by_name:
            hint = nearest(name, by_name, f"rows: {', '.join(by_name)}")
            raise ConfigError(f"{flag}: there is no row {name!r}; {hint}")
    return [by_name[name] for name in names] or list(variants)


def reproduced(
    paper: Paper, flags: PaperTablesFlags, changes: Mapping[str, Any], test_sets: Sequence[TestSet]
) -> tuple[list[Table], Results]:
    """The tables that the flags choose, and the results of their rows, trained and evaluated where data is given.

    Variants of the same configuration, such as the base and the row that is like it, are trained once.
    """
    chosen = chosen_tables(paper, flags)
    variants = variants_of(chosen)
    configs = variant_configs(flags.preset, dict.fromkeys(["", *variants]), changes)
    first = first_alike(configs)
    alike = {variant: first[variant] for variant in variants}
    trained = {variant: configs[variant] for variant in dict.fromkeys(alike.values())}
    if flags.data is not None:
        sweep(paper, flags, test_sets).run_all(trained)
    results = read_results(flags.out, list(trained), test_sets, flags.seeds)
    return chosen, replace(
        results,
        figures={variant: results.figures[same] for variant, same in alike.items()},
        similarities={v: results.similarities[same] for v, same in alike.items() if same in results.similarities},
        missing=paper.not_given({test_set.name for test_set in test_sets}, flags.data),
        deviations=deviations(flags.preset, {v: configs[v] for v in variants if not v.startswith(PUBLISHED)}),
    )


def with_published(paper: Paper) -> Paper:
    """The paper's tables with two rows for each that is reproduced: with the published settings, and with ours."""

    def both(row: Row) -> tuple[Row, ...]:
        if row.variant is None:
            return (row,)
        published = "-".join(filter(None, (PUBLISHED, row.variant)))
        return (
            replace(row, title=f"{row.title}, settings as published", variant=published),
            replace(row, title=f"{row.title}, ours"),
        )

    tables = [replace(table, rows=tuple(new for row in table.rows for new in both(row))) for table in paper.tables]
    return replace(paper, tables=tuple(tables))


def sweep(paper: Paper, flags: PaperTablesFlags, test_sets: Sequence[TestSet]) -> Sweep:
    """The training and evaluation of rows, after a check of all data sets.

    ConfigError without test sets, DatasetError for an unusable data set.
    """
    if not test_sets:
        prog = f"vtr tables {paper.name}"
        raise ConfigError(f"{prog} --data needs something to evaluate on: sets as name=URI, which {prog} --help lists")
    assert flags.data is not None
    check_counts(f"vtr tables {paper.name}", seeds=flags.seeds)
    check_sets(flags.preset, flags.data, flags.validation, test_sets)
    return Sweep(flags.out, flags.data, flags.validation, test_sets, flags.seeds, flags.experiment)


def with_costs(
    results: Results, file: str | None, benchmark: str, read: Callable[[Any], Mapping[str, Mapping[str, float]]]
) -> Results:
    """Adds the columns of the result of a benchmark, relative to a row's: `read` has them by variant and column."""
    if file is None:
        missing = f"Give the result of python -m benchmarks.{benchmark} with --benchmark FILE."
        return replace(results, missing={**results.missing, "benchmark": missing})
    if not storage.exists(locate(file)):
        raise ConfigError(f"--benchmark {file}: there is no such file; python -m benchmarks.{benchmark} writes one")
    figures = {name: dict(values) for name, values in results.figures.items()}
    for variant, costs in read(storage.read_json(locate(file))).items():
        figures.setdefault(variant, {}).update({f"benchmark/{column}": (value,) for column, value in costs.items()})
    return replace(results, figures=figures)


def write_page(
    paper: Paper,
    out: str,
    head: str,
    tables: Sequence[Table],
    results: Results,
    test_sets: Sequence[TestSet] = (),
) -> str:
    """Write `tables.md`, with `head` above the tables, and `tables.json` into the folder; returns the page."""
    own = [OwnSet(test_set.name, test_set.kind) for test_set in test_sets if test_set.name not in paper.data_sets]
    page = "\n".join(
        [
            f"# {paper.title}\n\nCells: the paper's figure → ours, the mean ± half the width of its 95 % confidence "
            f"interval over {paper.over}; {paper.units}.\n{head}{paper.remark}\n",
            *(markdown(table, results, own) for table in tables),
        ]
    )
    folder = locate(out)
    storage.write_bytes(folder / "tables.md", page.encode())
    print_link(folder / "tables.md")
    storage.write_json(folder / "tables.json", {"figures": results.figures, paper.compared_with: results.chance})
    return page


def page_head(flags: PaperTablesFlags, changes: Mapping[str, Any]) -> str:
    """What the rows of a page are and were trained on."""
    trained = f"trained on {flags.data}" if flags.data else "no training data given"
    return f"Rows are variants of `{flags.preset}`{as_flags(changes)}, {trained}; seeds: {flags.seeds}."


def as_flags(changes: Mapping[str, Any]) -> str:
    """Changed settings as flags, with a blank before each."""
    return "".join(f" --{name} {value}" for name, value in changes.items())
