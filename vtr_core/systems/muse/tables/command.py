"""`vtr tables muse`: the paper's ablations, its figures beside ours, which are measured where the data is there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipelines.arguments import parse_with_changes, print_help, wants_help
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from pipelines.tables.runs import TestSet
    from vtr_core.tables.table import Results

PAPER_SET = "msrvtt"
SYNTHETIC_PRESET = "muse-tokens-tiny"


@dataclass(frozen=True)
class TablesFlags:
    """Which tables, from which data; settings of all runs are given as --a.b value."""

    only: tuple[int, ...] = ()
    """Numbers of the tables (default: all)."""
    preset: str = "muse-msrvtt"
    """The base whose variants are the rows; a small one makes small tables."""
    data: str | None = None
    """Training data, or a folder with the splits train and val. Without it nothing is trained."""
    validation: str | None = None
    """Data set that chooses the best checkpoints (default: the split val beside train)."""
    test: tuple[str, ...] = ()
    """Test sets as name=URI; msrvtt fills the paper's columns, other names have their own."""
    synthetic: bool = False
    """Make the synthetic world of small things, and small tables on it: no data needed."""
    seeds: int = 3
    """Trainings of every row."""
    out: str = "runs/tables-muse"
    """Folder for runs and tables; finished runs in it are taken as they are."""
    benchmark: str = "benchmarks/results/muse.json"
    """Result of `python -m benchmarks.muse`, for the column of memory."""
    experiment: str = "vtr-tables"
    """MLflow experiment."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if wants_help(argv):
        print_help("vtr tables muse", TablesFlags)
        return
    flags, changes = parse_with_changes(TablesFlags, argv, "vtr tables muse")
    print(tables(flags, changes))


def tables(flags: TablesFlags, changes: Mapping[str, Any]) -> str:
    """Train and evaluate what is missing, and write `tables.md` and `tables.json` into the folder; the page."""
    from pipelines.report.links import print_link
    from pipelines.tables.runs import parse_test_set, read_results
    from vtr_core import storage
    from vtr_core.storage import locate
    from vtr_core.systems.muse.tables.paper import TABLES
    from vtr_core.tables.layout import OwnSet, markdown

    if flags.synthetic and flags.data is not None:
        raise ConfigError("--synthetic makes its own training data; leave out --data, or --synthetic")
    chosen = [table for table in TABLES if not flags.only or table.number in flags.only]
    if not chosen:
        raise ConfigError(f"--only {' '.join(map(str, flags.only))}: the ablations are tables 4 to 8")
    flags = _with_synthetic(flags) if flags.synthetic else flags
    test_sets = [parse_test_set(word, "retrieval") for word in flags.test]
    alike = _alike(flags, changes, [row.variant for table in chosen for row in table.rows if row.variant is not None])
    if flags.data is not None:
        _run(flags, changes, sorted(set(alike.values())), test_sets)
    found = read_results(flags.out, sorted(set(alike.values())), test_sets, flags.seeds)
    figures = {variant: found.figures[trained] for variant, trained in alike.items()}
    results = _with_benchmark(replace(found, figures=figures, missing=_missing(flags, test_sets)), flags.benchmark)
    own = [OwnSet(one.name, one.kind) for one in test_sets if one.name != PAPER_SET]
    page = "\n".join([_head(flags, changes), *(markdown(table, results, own) for table in chosen)])
    storage.write_bytes(locate(flags.out) / "tables.md", page.encode())
    print_link(locate(flags.out) / "tables.md")
    storage.write_json(locate(flags.out) / "tables.json", {"figures": results.figures, "chance": results.chance})
    return page


def _alike(flags: TablesFlags, changes: Mapping[str, Any], variants: Sequence[str]) -> dict[str, str]:
    """For each variant the first one with its very configuration, which is trained in its place: often the base, ""."""
    from vtr_core.config.override import override
    from vtr_core.run.presets import preset

    trained: list[tuple[Any, str]] = []
    found = {}
    for variant in dict.fromkeys(["", *variants]):
        name = f"{flags.preset}-{variant}" if variant else flags.preset
        config = override(preset(name), {**changes, "preset": flags.preset})
        found[variant] = next((other for made, other in trained if made == config), variant)
        if found[variant] == variant:
            trained.append((config, variant))
    return {variant: found[variant] for variant in variants}


def _run(flags: TablesFlags, changes: Mapping[str, Any], variants: Sequence[str], sets: "Sequence[TestSet]") -> None:
    from pipelines.tables.runs import Sweep

    if not sets:
        raise ConfigError("vtr tables muse --data needs something to evaluate on: --test name=URI")
    assert flags.data is not None
    sweep = Sweep(flags.out, flags.data, flags.validation, sets, flags.seeds, flags.experiment)
    sweep.run_variants(flags.preset, variants, changes)


def _with_synthetic(flags: TablesFlags) -> TablesFlags:
    """The flags with the synthetic world, made where it is not there yet, and the small preset."""
    from pipelines.ingest.command import IngestFlags, ingest
    from vtr_core.data.manifest import splits
    from vtr_core.data.sources.synthetic.tokens import SyntheticTokens

    data = f"{flags.out}/synthetic"
    if not splits(data):
        ingest(SyntheticTokens(), IngestFlags(out=data))
    preset = flags.preset if flags.preset != "muse-msrvtt" else SYNTHETIC_PRESET
    return replace(flags, preset=preset, data=data, test=(*flags.test, f"synthetic={data}/test"))


def _missing(flags: TablesFlags, sets: "Sequence[TestSet]") -> dict[str, str]:
    """Why the paper's data set has no figures of ours."""
    if PAPER_SET not in {one.name for one in sets}:
        return {PAPER_SET: "Its tokens are not at hand: vtr ingest clip_tokens …, then --test msrvtt=URI."}
    return {} if flags.data else {PAPER_SET: "No training data was given: --data URI."}


def _with_benchmark(results: "Results", file: str) -> "Results":
    """Adds the memory of a training step with each learner, relative to Mamba's."""
    from vtr_core import storage
    from vtr_core.storage import locate

    if not storage.exists(locate(file)):
        missing = "No result of python -m benchmarks.muse; give it with --benchmark FILE."
        return replace(results, missing={**results.missing, "benchmark": missing})
    measured = {one["learner"]: one["peak_gb"] for one in storage.read_json(locate(file))["learners"]}
    variants = {"transformer": "transformer", "flash": "flash", "mamba_out": "mamba-out", "mamba": ""}
    figures = {name: dict(values) for name, values in results.figures.items()}
    for learner, variant in variants.items():
        if measured.get(learner) is not None:
            figures.setdefault(variant, {})["benchmark/memory"] = (measured[learner] / measured["mamba"],)
    return replace(results, figures=figures)


def _head(flags: TablesFlags, changes: Mapping[str, Any]) -> str:
    settings = "".join(f" --{name} {value}" for name, value in changes.items())
    trained = f"trained on {flags.data}" if flags.data else "no training data given"
    return (
        f"# MUSE's ablations\n\nCells: the paper's figure → ours, the mean over seeds ± half the width of its 95 % "
        f"confidence interval; R@k in percent.\nRows are variants of `{flags.preset}`{settings}, {trained}; "
        f"seeds: {flags.seeds}. Scales of another grid than 7 × 7: a half, one, two and four times its side.\n"
    )
