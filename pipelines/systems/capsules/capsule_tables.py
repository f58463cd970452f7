"""`vtr tables capsules`: Tables 1 to 6 of Duarte et al., published metrics beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipelines.arguments import parse_with_changes, print_help, wants_help, written_as_json
from pipelines.tables.command import PaperTablesFlags
from vtr_core.errors import ConfigError
from vtr_core.storage.location import below
from vtr_core.tables.table import LOCALIZATION, Column, Paper, Row, Table

if TYPE_CHECKING:
    from pipelines.tables.runs import TestSet
    from vtr_core.tables.table import Results


RETRIEVAL_SETS = ("youcook2", "msrvtt")
LOCALIZATION_SETS = ("crosstask", "mining_youtube")


def _retrieval(*metrics: str) -> tuple[Column, ...]:
    headings = {"r1": "R@1", "r5": "R@5", "r10": "R@10", "medr": "MedR"}
    return tuple(
        Column(data_set, f"{{direction}}/{metric}", headings[metric])
        for data_set in RETRIEVAL_SETS
        for metric in metrics
    )


def _localization() -> tuple[Column, ...]:
    figures = (("recall_task", "recall"), ("iod_segment", "IoD"), ("iou_segment", "IoU"))
    return tuple(Column(data_set, metric, heading) for data_set in LOCALIZATION_SETS for metric, heading in figures)


_FULL = _retrieval("r1", "r5", "r10", "medr")
_COST = (Column("benchmark", "memory", "memory"), Column("benchmark", "time", "time"))
_SHORT = (*_retrieval("r1", "r10"), *_COST)
_OURS = (19.3, 37.8, 47.3, 13.0, 9.3, 21.4, 30.9, 37.0)
_MIL_NCE = "here: its loss, bags of five captions and learning rate, on two linear layers of video and of text"
_HT100M = "here: gated units of video and of text, its ranking loss and learning rate"
_AVLNET = "here: gated units and MMS on the same audio features; AVLnet trains its audio network as well"

TABLE_1 = Table(
    1,
    "zero-shot text-to-video retrieval",
    _FULL,
    (
        Row("MMT, 7 experts", (None, None, None, None, None, 14.4, None, 66.0), direction="t2v"),
        Row("ActBERT, R101+Res3D", (9.6, 26.7, 38.0, 19.0, 8.6, 23.4, 33.1, 36.0), direction="t2v"),
        Row("Support Set, R152+R(2+1)D-34", (None, None, None, None, 8.7, 23.0, 31.1, 31.0), direction="t2v"),
        Row("MIL-NCE, I3D-G trained", (11.4, 30.6, 42.0, 16.0, 9.4, 22.0, 30.0, 35.0), direction="t2v"),
        Row("MMV FAC, TSM-50x2 trained", (11.7, 33.4, 45.4, 13.0, 9.3, 23.0, 31.1, 38.0)),
        Row("HT100M", (6.1, 17.3, 24.8, 46.0, 7.2, 19.2, 28.0, 38.0), "max-margin", direction="t2v", note=_HT100M),
        Row("NoiseEstimation", (None, None, None, None, 8.0, 21.3, 29.3, 33.0), direction="t2v"),
        Row("MIL-NCE*", (8.0, 22.9, 32.1, 29.0, 8.6, 23.1, 30.8, 33.0), "mil-nce", direction="t2v", note=_MIL_NCE),
        Row("Ours, video", (9.0, 23.2, 32.5, 30.0, 9.7, 23.2, 30.7, 32.0), "video", direction="t2v"),
        Row("AVLNet", (19.9, 36.1, 44.3, 16.0, 8.3, 19.2, 27.4, 47.0), "avlnet", note=_AVLNET),
        Row("Ours, video and audio", _OURS, ""),
    ),
)

TABLE_2 = Table(
    2,
    "zero-shot temporal action localisation",
    _localization(),
    (
        Row("Cross-task, supervised", (31.6, None, None, None, None, None)),
        Row("Cross-task, weakly supervised", (22.4, None, None, None, None, None)),
        Row("ActBERT", (37.1, None, None, None, None, None)),
        Row("ActBERT + Faster R-CNN", (41.4, None, None, None, None, None)),
        Row("MIL-NCE, I3D-G trained", (36.4, None, None, None, None, None)),
        Row("Mining: MLP, weakly supervised", (None, None, None, None, 19.2, 9.8)),
        Row("HT100M", (33.6, 26.6, 17.5, 15.0, 17.2, 11.4), "max-margin", note=_HT100M),
        Row("MIL-NCE*", (33.2, 30.2, 16.3, 14.9, 26.4, 17.8), "mil-nce", note=_MIL_NCE),
        Row("Ours", (35.2, 32.6, 21.4, 18.0, 31.6, 22.9), ""),
    ),
    kind=LOCALIZATION,
)

TABLE_3 = Table(
    3,
    "routings, C = 64 and d1 = d2 = 16 (memory in GB, time in s per batch)",
    _SHORT,
    (
        Row("No routing", (15.3, 41.9, 7.6, 30.1, 9.12, 0.687), "routing-none"),
        Row("Dynamic routing", (17.0, 44.3, 8.2, 31.1, 20.50, 1.534), "routing-dynamic"),
        Row("EM routing", (5.8, 24.2, 5.7, 21.8, 19.13, 1.272), "routing-em"),
        Row("Set Transformer", (16.5, 40.0, 8.4, 30.0, 9.11, 0.707), "routing-set-transformer"),
        Row("Self-attention", (18.6, 44.0, 8.7, 31.6, 9.11, 0.722), "routing-self-attention"),
    ),
    relative_to="routing-self-attention",
)

TABLE_4 = Table(
    4,
    "number of capsules, d1 = 32 and d2 = 256 (memory in GB, time in s per batch)",
    _SHORT,
    (
        Row("C = 32", (18.5, 45.0, 8.0, 29.2, 9.15, 0.730), "capsules-quarter"),
        Row("C = 64", (18.1, 46.1, 8.6, 29.4, 11.24, 0.768), "capsules-half"),
        Row("C = 128", (19.3, 47.3, 9.3, 30.9, 15.97, 0.879), ""),
        Row("C = 256", (18.7, 46.5, 8.7, 30.5, 27.98, 1.096), "capsules-double"),
    ),
    relative_to="",
)

TABLE_5 = Table(
    5,
    "fully connected and self-attention baselines",
    _FULL,
    (
        Row("Fully connected", (15.5, 31.0, 40.0, 22.0, 7.8, 17.8, 25.2, 50.0), "fully-connected"),
        Row("Self-attention", (13.8, 29.3, 36.2, 34.0, 8.9, 22.3, 30.1, 41.0), "self-attention"),
        Row("Ours", _OURS, ""),
    ),
)

TABLE_6 = Table(
    6,
    "shared weights",
    _FULL,
    (
        Row("Not shared", (16.8, 35.4, 44.6, 15.0, 9.5, 22.8, 30.3, 30.5), "not-shared"),
        Row("Shared", _OURS, ""),
    ),
)

TABLES = (TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_6)
PAPER = Paper("capsules", "The capsule paper's tables", "R@k in percent", TABLES, RETRIEVAL_SETS + LOCALIZATION_SETS)


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
    from pipelines.tables.runs import chosen_tables, read_results, sweep, variants_of, write_page

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
    from pipelines.ingest.ingest_options import IngestFlags
    from vtr_core import storage
    from vtr_core.data.manifest import splits
    from vtr_core.data.sources.synthetic import Synthetic, SyntheticSteps
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
