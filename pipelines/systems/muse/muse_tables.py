"""`vtr tables muse`: Tables 1 to 11 of Tang et al. 2025, published metrics beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipelines.arguments import parse_with_changes, print_help, wants_help, written_as_json
from pipelines.tables.command import PaperTablesFlags
from vtr_core.errors import ConfigError
from vtr_core.storage.location import below
from vtr_core.tables.table import Column, Paper, Row, Table

if TYPE_CHECKING:
    from pipelines.tables.runs import TestSet
    from vtr_core.tables.table import Results


def _columns(data_set: str, direction: str, *metrics: str) -> tuple[Column, ...]:
    """Recalls and ranks of one direction on one data set."""
    headings = {"r1": "R@1", "r5": "R@5", "r10": "R@10", "medr": "MdR", "meanr": "MnR"}
    way = "t→v" if direction == "t2v" else "v→t"
    return tuple(Column(data_set, f"{direction}/{metric}", f"{way} {headings[metric]}") for metric in metrics)


_RECALLS, _ALL = ("r1", "r5", "r10"), ("r1", "r5", "r10", "medr", "meanr")
_T2V = _columns("msrvtt", "t2v", *_RECALLS)
_BASELINE, _OURS = (42.6, 70.8, 79.9), (44.8, 71.6, 82.1)

TABLE_1 = Table(
    1,
    "the block in four systems",
    (*_T2V, *_columns("msrvtt", "v2t", *_RECALLS)),
    (
        Row("CLIP4Clip", (*_BASELINE, 43.9, 70.0, 81.4), "no-learner", direction="t2v"),
        Row("CLIP4Clip + MUSE", (*_OURS, 44.9, 70.8, 82.2), "", direction="t2v"),
        Row("EMCL-Net", (47.1, 72.7, 82.3, 44.4, 72.6, 82.6)),
        Row("EMCL-Net + MUSE", (48.8, 74.1, 83.4, 47.4, 75.8, 82.9)),
        Row("STAN", (46.2, 72.6, 81.1, 44.5, 71.9, 81.7)),
        Row("STAN + MUSE", (47.3, 73.1, 82.2, 45.5, 73.1, 81.8)),
        Row("T-MASS", (50.0, 75.3, 84.2, 46.0, 77.1, 86.2)),
        Row("T-MASS + MUSE", (50.9, 76.7, 85.6, 49.7, 77.8, 86.5)),
    ),
)
TABLE_2 = Table(
    2,
    "MSR-VTT",
    (*_columns("msrvtt", "t2v", *_ALL), *_columns("msrvtt", "v2t", *_ALL)),
    (
        Row("CLIP4Clip", (44.5, 71.4, 81.6, 2.0, 15.3, 42.7, 70.9, 80.6, 2.0, 11.6)),
        Row("X-Pool", (46.9, 72.8, 82.2, 2.0, 14.3, 44.4, 73.3, 84.0, 2.0, 9.0)),
        Row("STAN", (46.9, 72.8, 82.8, 2.0, None, None, None, None, None, None)),
        Row("EMCL-Net", (46.8, 73.1, 83.1, 2.0, None, 46.5, 73.5, 83.5, 2.0, None)),
        Row("HBI", (48.6, 74.6, 83.4, 2.0, 12.0, 46.8, 74.3, 84.3, 2.0, 8.9)),
        Row("DiffusionRet", (49.0, 75.2, 82.7, 2.0, 12.1, 47.7, 73.8, 84.5, 2.0, 8.8)),
        Row("T-MASS", (50.2, 75.3, 85.1, 1.0, 11.9, 47.7, 78.0, 86.3, 2.0, 8.0)),
        Row(
            "MUSE",
            (50.9, 76.7, 85.6, 1.0, 10.9, 49.7, 77.8, 86.5, 2.0, 7.4),
            "",
            direction="t2v",
            note="the paper's is on T-MASS, ours on the mean of frames",
        ),
    ),
)
TABLE_3 = Table(
    3,
    "DiDeMo and ActivityNet",
    (*_columns("didemo", "t2v", *_ALL), *_columns("activitynet", "t2v", *_ALL)),
    (
        Row("CLIP4Clip", (43.4, 70.2, 80.6, 2.0, 17.5, 40.5, 72.4, None, 2.0, 7.4)),
        Row("X-CLIP", (45.2, 74.0, None, None, 14.6, 44.3, 74.1, None, None, 7.9)),
        Row("HBI", (46.9, 74.9, 82.7, 2.0, 12.1, 42.2, 73.0, 84.6, 2.0, 6.6)),
        Row("DiCoSA", (45.7, 74.6, 83.5, 2.0, 11.7, 42.1, 73.6, 84.6, 2.0, 6.8)),
        Row("DiffusionRet", (46.7, 74.7, 82.7, 2.0, 14.3, 45.8, 75.6, 86.3, 2.0, 6.5)),
        Row("T-MASS", (50.9, 77.2, 85.3, 1.0, 12.1, None, None, None, None, None)),
        Row(
            "MUSE",
            (51.5, 77.7, 86.0, 1.0, 11.3, 46.2, 76.9, 86.8, 2.0, 5.8),
            "",
            direction="t2v",
            note="ours is trained on the data of --data, so give each of the two data sets a folder of its own",
        ),
    ),
)
TABLE_9 = Table(
    9,
    "training time of the whole system",
    (*_T2V, Column("paper", "hours", "GPU hours")),
    (
        Row("CLIP4Clip", (*_BASELINE, 15.6), "no-learner", direction="t2v"),
        Row("CLIP4Clip + MUSE", (*_OURS, 17.3), "", direction="t2v"),
    ),
)
TABLE_10 = Table(
    10,
    "memory of the whole system",
    (*_T2V, Column("paper", "gigabytes", "GB", 2)),
    (
        Row("CLIP4Clip", (*_BASELINE, 9.84), "no-learner", direction="t2v"),
        Row("CLIP4Clip + MUSE", (*_OURS, 12.6), "", direction="t2v"),
        Row(
            "CLIP4Clip + Transformer",
            (43.0, 71.1, 80.0, 36.8),
            "transformer",
            direction="t2v",
            note="the 36.8 GB that Table 4 has beside Mamba's 3.40 GB hold CLIP4Clip's 9.84 GB, too",
        ),
    ),
)


_RECALL = tuple(
    Column("msrvtt", f"t2v/{metric}", heading)
    for metric, heading in (("r1", "R@1"), ("r5", "R@5"), ("r10", "R@10"), ("meanr", "MeanR"))
)
_MEMORY = Column("benchmark", "memory", "memory")
_PAPER_OURS = (44.8, 71.6, 82.1, 15.6)

TABLE_4 = Table(
    4,
    "video learners",
    (*_RECALL, _MEMORY),
    (
        Row("Transformer", (43.0, 71.1, 80.0, 16.3, 36.80), "transformer", direction="t2v"),
        Row("FlashAttention", (42.6, 69.3, 79.7, 16.3, 2.38), "flash", direction="t2v"),
        Row("MambaOut", (42.4, 70.2, 80.7, 15.4, 3.28), "mamba-out", direction="t2v"),
        Row("Mamba", (*_PAPER_OURS, 3.40), "", direction="t2v"),
    ),
    relative_to="",
)
TABLE_5 = Table(
    5,
    "scans",
    _RECALL,
    (
        Row("none", (44.1, 71.7, 80.5, 14.4), "scan-none", direction="t2v"),
        Row("v1", (44.0, 71.0, 80.7, 14.9), "scan-v1", direction="t2v"),
        Row("v2", _PAPER_OURS, "", direction="t2v"),
    ),
)
TABLE_6 = Table(
    6,
    "orders of the tokens",
    _RECALL,
    (
        Row("frame", (43.5, 70.6, 80.0, 15.2), "frame", direction="t2v"),
        Row("spatial", (44.4, 70.3, 80.9, 15.4), "spatial", direction="t2v"),
        Row("scale", _PAPER_OURS, "scale", direction="t2v"),
    ),
)
TABLE_7 = Table(
    7,
    "scales",
    _RECALL,
    (
        Row("{1}", (43.6, 71.2, 81.8, 15.2), "scales-1", direction="t2v"),
        Row("{1, 3}", (44.0, 70.8, 81.2, 15.8), "scales-2", direction="t2v"),
        Row("{1, 3, 7}", (44.3, 71.8, 81.7, 15.9), "scales-3", direction="t2v"),
        Row("{1, 3, 7, 14}", _PAPER_OURS, "scales-4", direction="t2v"),
        Row("{1, 3, 7, 14, 28}", (42.5, 71.4, 81.6, 15.1), "scales-5", direction="t2v"),
    ),
)
TABLE_8 = Table(
    8,
    "layers",
    _RECALL,
    (
        Row("L = 0, mean pooling", (42.6, 70.8, 79.9, 16.1), "no-learner", direction="t2v"),
        Row("L = 2", (44.0, 70.9, 80.6, 15.0), "layers-2", direction="t2v"),
        Row("L = 4", _PAPER_OURS, "layers-4", direction="t2v"),
        Row("L = 8", (45.0, 72.1, 81.4, 14.6), "layers-8", direction="t2v"),
        Row("L = 16", (45.6, 72.4, 81.5, 14.7), "layers-16", direction="t2v"),
    ),
)
TABLE_11 = Table(
    11,
    "residual connections",
    _RECALL,
    (
        Row("without", (43.9, 71.7, 81.6, 15.1), "no-residual", direction="t2v"),
        Row("with", _PAPER_OURS, "", direction="t2v"),
    ),
)
TABLES = (
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TABLE_6,
    TABLE_7,
    TABLE_8,
    TABLE_9,
    TABLE_10,
    TABLE_11,
)
PAPER = Paper(
    "muse",
    "MUSE's comparisons and ablations",
    "R@k in percent",
    TABLES,
    ("msrvtt", "didemo", "activitynet"),
    remark=" Ours reads frozen tokens of CLIP; muse-clip-msrvtt and its like train CLIP. "
    "Scales of another grid than 7 × 7: a half, one, two and four times its side.",
)


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
    from pipelines.tables.runs import chosen_tables, parse_test_set, read_results, sweep, variants_of, write_page

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
    from pipelines.ingest.ingest_options import IngestFlags
    from vtr_core.data.manifest import splits
    from vtr_core.data.sources.synthetic import SyntheticTokens

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
