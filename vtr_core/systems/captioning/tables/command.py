"""`vtr tables gmc`: the captioning paper's tables, its figures beside ours, measured where the data is there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipelines.arguments import parse_with_changes, print_help, wants_help
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from pipelines.tables.runs import TestSet

PAPER_SETS = ("msrvtt", "msvd")


@dataclass(frozen=True)
class GmcTablesFlags:
    """Which tables, from which data; settings of all runs are given as --a.b value."""

    only: tuple[int, ...] = ()
    """Numbers of the tables (default: both)."""
    preset: str = "caption-msrvtt"
    """The base whose variants are the rows; a small one makes small tables."""
    data: str | None = None
    """Training data, or a folder with the splits train and val. Without it nothing is trained."""
    validation: str | None = None
    """Data set that chooses the best checkpoints (default: the split val beside train)."""
    test: tuple[str, ...] = ()
    """Test sets as name=URI; msrvtt and msvd fill the paper's columns, other names have their own."""
    seeds: int = 3
    """Trainings of every row."""
    out: str = "runs/tables-gmc"
    """Folder for runs and tables; finished runs in it are taken as they are, interrupted ones go on."""
    experiment: str = "vtr-tables"
    """MLflow experiment."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr tables gmc", GmcTablesFlags)
        return
    flags, changes = parse_with_changes(GmcTablesFlags, argv, "vtr tables gmc")
    print(tables(flags, changes))


def tables(flags: GmcTablesFlags, changes: Mapping[str, Any]) -> str:
    """Train and evaluate what is missing, and write `tables.md` and `tables.json` into the folder; the page."""
    from pipelines.report.links import print_link
    from pipelines.tables.runs import Sweep, parse_test_set, read_results
    from vtr_core import storage
    from vtr_core.config.override import override
    from vtr_core.run.presets import preset
    from vtr_core.storage import locate
    from vtr_core.systems.captioning.tables.paper import TABLES
    from vtr_core.tables.layout import OwnSet, markdown
    from vtr_core.tables.table import CAPTIONING

    test_sets = [parse_test_set(word, CAPTIONING) for word in flags.test]
    chosen = [table for table in TABLES if not flags.only or table.number in flags.only]
    if not chosen:
        raise ConfigError(f"--only {' '.join(map(str, flags.only))}: the paper has tables 1 and 2")
    variants = list(dict.fromkeys(r.variant for table in chosen for r in table.rows if r.variant is not None))
    if flags.data is not None:
        if not test_sets:
            raise ConfigError("vtr tables gmc --data needs something to evaluate on: --test name=URI")
        sweep = Sweep(flags.out, flags.data, flags.validation, test_sets, flags.seeds, flags.experiment)
        for variant in variants:
            name = f"{flags.preset}-{variant}" if variant else flags.preset
            sweep.run(variant, override(preset(name), _own(changes, name)))
    results = read_results(flags.out, variants, test_sets, flags.seeds)
    missing = {name: _missing(name, flags) for name in PAPER_SETS if name not in {one.name for one in test_sets}}
    results = replace(results, missing=missing, chance=_baseline(flags, test_sets))
    own = [OwnSet(one.name, one.kind) for one in test_sets if one.name not in PAPER_SETS]
    page = "\n".join([_head(flags, changes), *(markdown(table, results, own) for table in chosen)])
    storage.write_bytes(locate(flags.out) / "tables.md", page.encode())
    storage.write_json(locate(flags.out) / "tables.json", {"figures": results.figures, "baseline": results.chance})
    print_link(locate(flags.out) / "tables.md")
    return page


def _own(changes: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The changes that a row has settings for: one without a margin has none of its."""
    from vtr_core.run.presets import preset
    from vtr_core.systems.captioning.config import CaptioningLossConfig

    loss = preset(name).loss
    assert isinstance(loss, CaptioningLossConfig)
    has_margin = loss.granularity_margin is not None
    return {key: value for key, value in changes.items() if has_margin or "granularity_margin" not in key}


def _baseline(flags: GmcTablesFlags, sets: "Sequence[TestSet]") -> dict[str, float]:
    """By metric name, what the caption of the nearest training video reaches."""
    from vtr_core.data.manifest import Manifest, splits
    from vtr_core.run.presets import preset
    from vtr_core.systems.captioning.config import CaptionerConfig
    from vtr_core.systems.captioning.evaluation import caption_figures, caption_values
    from vtr_core.systems.captioning.nearest_caption import nearest_captions

    if flags.data is None:
        return {}
    model = preset(flags.preset).model
    if not isinstance(model, CaptionerConfig):
        raise ConfigError(
            f"vtr tables gmc --preset {flags.preset}: it is no captioner; use caption-msrvtt or a small one"
        )
    training = Manifest.load(splits(flags.data).get("train", flags.data))
    values: dict[str, float] = {}
    for one in sets:
        found = caption_figures(nearest_captions(training, Manifest.load(one.uri), model.feature), "words")
        values |= caption_values(found, one.name)
    return values


def _missing(name: str, flags: GmcTablesFlags) -> str:
    if flags.data is None:
        return "No training data was given: --data URI."
    return f"Its features are not at hand: ingest it, then --test {name}=URI."


def _head(flags: GmcTablesFlags, changes: Mapping[str, Any]) -> str:
    settings = "".join(f" --{name} {value}" for name, value in changes.items())
    trained = f"trained on {flags.data}" if flags.data else "no training data given"
    return (
        f"# The captioning paper's tables\n\nCells: the paper's figure → ours, the mean over seeds ± half the width of "
        f"its 95 % confidence interval; all times 100.\nRows are variants of `{flags.preset}`{settings}, {trained}; "
        f"seeds: {flags.seeds}. Captions are cut by the tokenizer `words`; published figures use `treebank`.\n"
    )
