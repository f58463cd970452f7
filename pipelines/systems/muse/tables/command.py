"""`vtr tables muse`: the paper's ablations, published metrics beside ours, measured where data is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipelines.arguments import parse_with_changes, print_help, wants_help
from pipelines.report.json_result import written_as_json
from pipelines.tables.flags import PaperTablesFlags
from vtr_core.errors import ConfigError
from pipelines.systems.muse.tables.paper import PAPER
from vtr_core.uris import below

if TYPE_CHECKING:
    from pipelines.tables.runs import TestSet
    from vtr_core.tables.table import Results

PAPER_SET = "msrvtt"
SYNTHETIC_PRESET = "muse-tokens-tiny"


@dataclass(frozen=True)
class TablesFlags(PaperTablesFlags):
    """Flags of `vtr tables muse`; settings of all runs are given as --a.b value."""

    preset: str = "muse-msrvtt"
    """Base preset, whose variants are the rows; a small one makes small tables."""
    test: tuple[str, ...] = ()
    """Test sets as name=URI; msrvtt fills the paper's columns, others get columns of their own."""
    synthetic: bool = False
    """Make a synthetic data set of small objects, and small tables on it; no data needed."""
    out: str = "runs/tables-muse"
    """Folder of the runs and tables; finished runs are reused, interrupted ones resumed."""
    benchmark: str = "benchmarks/results/muse.json"
    """Result of `python -m benchmarks.muse`, for the memory column."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if wants_help(argv):
        print_help("vtr tables muse", TablesFlags)
        return
    flags, changes = parse_with_changes(TablesFlags, argv, "vtr tables muse")
    with written_as_json(flags.json, flags.out, "tables.md", "tables.json"):
        print(tables(flags, changes))


def tables(flags: TablesFlags, changes: Mapping[str, Any]) -> str:
    """Trains and evaluates missing rows, writes `tables.md` and `tables.json` into the folder, and returns the page."""
    from pipelines.tables.page import chosen_tables, sweep, variants_of, write_page
    from pipelines.tables.runs import parse_test_set, read_results

    if flags.synthetic and flags.data is not None:
        raise ConfigError("--synthetic makes its own training data; leave out --data, or --synthetic")
    chosen = chosen_tables(PAPER, flags)
    flags = _with_synthetic(flags) if flags.synthetic else flags
    test_sets = [parse_test_set(word, "retrieval") for word in flags.test]
    alike = _alike(flags, changes, variants_of(chosen))
    trained = sorted(set(alike.values()))
    if flags.data is not None:
        sweep(PAPER, flags, test_sets).run_variants(flags.preset, trained, changes)
    found = read_results(flags.out, trained, test_sets, flags.seeds)
    figures = {variant: found.figures[other] for variant, other in alike.items()}
    said = {variant: found.similarities[other] for variant, other in alike.items() if other in found.similarities}
    found = replace(found, figures=figures, similarities=said, missing=_missing(flags, test_sets))
    results = _with_benchmark(found, flags.benchmark)
    return write_page(PAPER, flags, changes, chosen, results, test_sets)


def _alike(flags: TablesFlags, changes: Mapping[str, Any], variants: Sequence[str]) -> dict[str, str]:
    """For each variant the first one with an identical configuration, which is trained for it: often the base, ""."""
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


def _with_synthetic(flags: TablesFlags) -> TablesFlags:
    """The flags with synthetic data, created if missing, and the small preset."""
    from pipelines.ingest.command import ingest
    from pipelines.ingest.flags import IngestFlags
    from vtr_core.data.manifest import splits
    from vtr_core.data.sources.synthetic.tokens import SyntheticTokens

    data = below(flags.out, "synthetic")
    if not splits(data):
        ingest(SyntheticTokens(), IngestFlags(out=data))
    preset = flags.preset if flags.preset != "muse-msrvtt" else SYNTHETIC_PRESET
    return replace(flags, preset=preset, data=data, test=(*flags.test, f"synthetic={below(data, 'test')}"))


def _missing(flags: TablesFlags, sets: "Sequence[TestSet]") -> dict[str, str]:
    """The reason why the paper's data set has no metrics of ours."""
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
