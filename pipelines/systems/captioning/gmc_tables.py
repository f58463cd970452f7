"""`vtr tables gmc`: Tables 1 and 2 of Gu and Yao 2023, published metrics beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipelines.arguments import parse_with_changes, print_help, wants_help, written_as_json
from pipelines.tables.command import PaperTablesFlags
from vtr_core.errors import ConfigError
from vtr_core.tables.table import CAPTIONING, Column, Paper, Row, Table

if TYPE_CHECKING:
    from pipelines.tables.runs import TestSet


BASELINE = "nearest training video's caption"
_HEADINGS = {"bleu1": "B@1", "bleu4": "B@4", "meteor": "METEOR", "rouge_l": "ROUGE-L", "cider": "CIDEr"}


def _figures(*data_sets: str) -> tuple[Column, ...]:
    return tuple(Column(name, metric, heading) for name in data_sets for metric, heading in _HEADINGS.items())


_NONE = (None,) * 5

TABLE_1 = Table(
    1,
    "captioning on MSR-VTT and MSVD",
    _figures("msrvtt", "msvd"),
    (
        Row("UniVL", (80.51, 41.79, 28.94, 60.78, 50.04, *_NONE)),
        Row("HMN", (None, 43.5, 29.0, 62.7, 51.5, None, 59.2, 37.7, 75.1, 104.0)),
        Row("SwinBERT", (None, None, None, None, 53.8, None, None, None, None, 120.6)),
        Row("CoCap", (None, 43.1, 29.8, 62.7, 56.2, None, 55.9, 39.9, 76.8, 113.0)),
        Row(
            "LAVENDER",
            (81.84, 43.12, 29.63, 62.51, 55.17, 88.65, 63.96, 43.80, 80.01, 135.10),
            "baseline",
            note="here: its recipe alone, without its pre-training",
        ),
        Row("Ours", (82.44, 44.34, 29.88, 62.94, 57.17, 88.96, 64.43, 43.37, 80.27, 138.68), ""),
    ),
    kind=CAPTIONING,
    baseline=BASELINE,
)

TABLE_2 = Table(
    2,
    "what each loss adds, on MSVD",
    _figures("msvd"),
    (
        Row("Baseline", (88.65, 63.96, 43.80, 80.01, 135.10), "baseline"),
        Row(
            "+ L_mcl, L_b",
            (82.50, 50.98, 36.99, 72.92, 97.56),
            "margin",
            note="the paper's text says that L_mcl alone gains over the baseline, which its 97.56 contradicts",
        ),
        Row("+ L_bfc", (88.64, 63.60, 43.34, 79.59, 137.10), "fusion"),
        Row("+ all", (88.96, 64.43, 43.37, 80.27, 138.68), ""),
    ),
    kind=CAPTIONING,
    baseline=BASELINE,
)

TABLES = (TABLE_1, TABLE_2)
PAPER = Paper(
    "gmc",
    "The captioning paper's tables",
    "all times 100",
    TABLES,
    ("msrvtt", "msvd"),
    remark=" Captions are cut by the tokenizer `words`; published figures use `treebank`.",
    compared_with="baseline",
)


@dataclass(frozen=True)
class GmcTablesFlags(PaperTablesFlags):
    """Flags of `vtr tables gmc`; settings of all runs are given as --a.b value."""

    preset: str = "caption-msrvtt"
    """Base preset, whose variants are the rows; a small one makes small tables."""
    test: tuple[str, ...] = ()
    """Test sets as name=URI; msrvtt and msvd fill the paper's columns, others get columns of their own."""
    out: str = "runs/tables-gmc"
    """Folder of the runs and tables; finished runs are reused, interrupted ones resumed."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr tables gmc", GmcTablesFlags)
        return
    flags, changes = parse_with_changes(GmcTablesFlags, argv, "vtr tables gmc")
    with written_as_json(flags.json, flags.out, "tables.md", "tables.json"):
        print(tables(flags, changes))


def tables(flags: GmcTablesFlags, changes: Mapping[str, Any]) -> str:
    """Trains and evaluates missing rows, writes `tables.md` and `tables.json` into the folder, and returns the page."""
    from pipelines.tables.runs import chosen_tables, parse_test_set, read_results, sweep, variants_of, write_page
    from vtr_core.config.override import override
    from vtr_core.run.presets import preset
    from vtr_core.tables.table import CAPTIONING

    test_sets = [parse_test_set(word, CAPTIONING) for word in flags.test]
    chosen = chosen_tables(PAPER, flags)
    variants = variants_of(chosen)
    if flags.data is not None:
        names = {variant: f"{flags.preset}-{variant}" if variant else flags.preset for variant in variants}
        configs = {variant: override(preset(name), _own(changes, name)) for variant, name in names.items()}
        sweep(PAPER, flags, test_sets).run_all(configs)
    results = read_results(flags.out, variants, test_sets, flags.seeds)
    missing = {name: _missing(name, flags) for name in PAPER.data_sets if name not in {one.name for one in test_sets}}
    results = replace(results, missing=missing, chance=_baseline(flags, test_sets))
    return write_page(PAPER, flags, changes, chosen, results, test_sets)


def _own(changes: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The changes that apply to a variant: without a granularity margin, its settings are dropped."""
    from vtr_core.run.presets import preset
    from vtr_core.systems.captioning.config import CaptioningLossConfig

    loss = preset(name).loss
    assert isinstance(loss, CaptioningLossConfig)
    has_margin = loss.granularity_margin is not None
    return {key: value for key, value in changes.items() if has_margin or "granularity_margin" not in key}


def _baseline(flags: GmcTablesFlags, sets: "Sequence[TestSet]") -> dict[str, float]:
    """The metrics of the nearest-neighbour baseline, by name."""
    from vtr_core.data.manifest import Manifest, data_set
    from vtr_core.run.presets import preset
    from vtr_core.systems.captioning.config import CaptionerConfig
    from vtr_core.systems.captioning.generated_captions import caption_figures, caption_values, nearest_captions

    if flags.data is None:
        return {}
    model = preset(flags.preset).model
    if not isinstance(model, CaptionerConfig):
        raise ConfigError(
            f"vtr tables gmc --preset {flags.preset}: it is no captioner; use caption-msrvtt or a small one"
        )
    training = Manifest.load(data_set(flags.data, "train"))
    values: dict[str, float] = {}
    for one in sets:
        found = caption_figures(nearest_captions(training, Manifest.load(one.uri), model.feature), "words")
        values |= caption_values(found, one.name)
    return values


def _missing(name: str, flags: GmcTablesFlags) -> str:
    if flags.data is None:
        return "No training data was given: --data URI."
    return f"Its features are not at hand: ingest it, then --test {name}=URI."
