"""`vtr tables capsules`: the paper's tables, published metrics beside ours, measured where data is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipelines.arguments import parse_with_changes, print_help, wants_help
from pipelines.report.json_result import written_as_json
from pipelines.tables.flags import PaperTablesFlags
from vtr_core.errors import ConfigError
from pipelines.systems.capsules.tables.paper import LOCALIZATION_SETS, PAPER, RETRIEVAL_SETS
from vtr_core.uris import below

if TYPE_CHECKING:
    from pipelines.tables.runs import TestSet
    from vtr_core.tables.table import Results

SYNTHETIC_PRESET = "capsule-howto-tiny"
CAPSULES = {"32": "capsules-quarter", "64": "capsules-half", "128": "", "256": "capsules-double"}
"""Variants by the benchmark's number of capsules."""


@dataclass(frozen=True)
class TablesFlags(PaperTablesFlags):
    """Flags of `vtr tables capsules`; settings of all runs are given as --a.b value."""

    preset: str = "capsule-howto"
    """Base preset, whose variants are the rows; a small one makes small tables."""
    test: tuple[str, ...] = ()
    """Retrieval sets as name=URI; youcook2 and msrvtt fill the paper's columns, others get columns of their own."""
    steps: tuple[str, ...] = ()
    """Localisation sets as name=URI; crosstask and mining_youtube fill the paper's columns."""
    synthetic: bool = False
    """Make synthetic data sets of clips and steps, and small tables on them; no data needed."""
    seeds: int = 5
    """Number of training seeds per row."""
    benchmark: str = "benchmarks/results/routing.json"
    """Result of `python -m benchmarks.routing`, for the time and memory columns."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if wants_help(argv):
        print_help("vtr tables capsules", TablesFlags)
        return
    flags, changes = parse_with_changes(TablesFlags, argv, "vtr tables capsules")
    with written_as_json(flags.json, flags.out, "tables.md", "tables.json"):
        print(tables(flags, changes))


def tables(flags: TablesFlags, changes: Mapping[str, Any]) -> str:
    """Trains and evaluates missing rows, writes `tables.md` and `tables.json` into the folder, and returns the page."""
    from pipelines.tables.page import chosen_tables, sweep, variants_of, write_page
    from pipelines.tables.runs import read_results

    if flags.synthetic and flags.data is not None:
        raise ConfigError("--synthetic makes its own training data; leave out --data, or --synthetic")
    flags = _with_synthetic(flags) if flags.synthetic else flags
    test_sets = [*_sets(flags.test, "retrieval"), *_sets(flags.steps, "localization")]
    chosen = chosen_tables(PAPER, flags)
    variants = variants_of(chosen)
    if flags.data is not None:
        sweep(PAPER, flags, test_sets).run_variants(flags.preset, variants, changes)
    results = read_results(flags.out, variants, test_sets, flags.seeds)
    results = _with_benchmark(replace(results, missing=_missing(flags, test_sets)), flags.benchmark)
    return write_page(PAPER, flags, changes, chosen, results, test_sets)


def _sets(words: Sequence[str], kind: str) -> "list[TestSet]":
    from pipelines.tables.runs import parse_test_set

    found = [parse_test_set(word, kind) for word in words]
    for one in found:
        if one.name in (LOCALIZATION_SETS if kind == "retrieval" else RETRIEVAL_SETS):
            flag = "--steps" if kind == "retrieval" else "--test"
            raise ConfigError(f"{one.name} is no {kind} set; give it with {flag}")
    return found


def _with_synthetic(flags: TablesFlags) -> TablesFlags:
    """The flags with synthetic data sets, created if missing, and the small preset."""
    from pipelines.ingest.command import ingest
    from pipelines.ingest.flags import IngestFlags
    from vtr_core import storage
    from vtr_core.data.manifest import splits
    from vtr_core.data.sources.synthetic.clips import Synthetic
    from vtr_core.data.sources.synthetic.steps import SyntheticSteps
    from vtr_core.storage import locate

    data, steps = below(flags.out, "synthetic"), below(flags.out, "synthetic-steps")
    if not splits(data):
        ingest(Synthetic(), IngestFlags(out=data))
    if not storage.exists(locate(steps) / "manifest.json"):
        ingest(SyntheticSteps(), IngestFlags(out=steps))
    return replace(
        flags,
        preset=flags.preset if flags.preset != "capsule-howto" else SYNTHETIC_PRESET,
        data=data,
        test=(*flags.test, f"synthetic={below(data, 'test')}"),
        steps=(*flags.steps, f"synthetic-steps={steps}"),
    )


def _missing(flags: TablesFlags, sets: "Sequence[TestSet]") -> dict[str, str]:
    """The reason why the paper's data sets have no metrics of ours."""
    given = {one.name for one in sets}
    reasons = {}
    for name in PAPER.data_sets:
        if name not in given:
            flag = "--test" if name in RETRIEVAL_SETS else "--steps"
            reasons[name] = f"Its features are not at hand: vtr ingest {name} …, then {flag} {name}=URI."
        elif flags.data is None:
            reasons[name] = "No training data was given: --data URI, HowTo100M in the paper."
    return reasons


def _with_benchmark(results: "Results", file: str) -> "Results":
    """Adds time and memory of a training step, relative to self-attention routing and to C = 128."""
    from vtr_core import storage
    from vtr_core.storage import locate

    if not storage.exists(locate(file)):
        missing = "No result of python -m benchmarks.routing; give it with --benchmark FILE."
        return replace(results, missing={**results.missing, "benchmark": missing})
    measured = storage.read_json(locate(file))
    figures = {name: dict(values) for name, values in results.figures.items()}
    routings = {f"routing-{kind.replace('_', '-')}": costs for kind, costs in measured["routings"].items()}
    capsules = {CAPSULES[count]: costs for count, costs in measured["capsules"].items()}
    for group, reference in ((routings, "routing-self-attention"), (capsules, "")):
        for variant, costs in group.items():
            for column, name in (("time", "seconds"), ("memory", "peak_gb")):
                relative = costs[name] / group[reference][name]
                figures.setdefault(variant, {})[f"benchmark/{column}"] = (relative,)
    return replace(results, figures=figures)
