"""`vtr tables gmc`: Tables 1 and 2 of Gu and Yao 2023, published metrics beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipelines.tables.command import PaperTablesFlags, run_paper
from pipelines.tables.layout import CAPTIONING, load_paper
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from pipelines.tables.runs import TestSet


PAPER = load_paper("gmc")


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
    run_paper(argv, "gmc", GmcTablesFlags, __name__)


def tables(flags: GmcTablesFlags, changes: Mapping[str, Any]) -> str:
    """Trains and evaluates missing rows, writes `tables.md` and `tables.json` into the folder, and returns the page."""
    from pipelines.tables.runs import page_head, parse_test_set, reproduced, write_page

    test_sets = [parse_test_set(word, CAPTIONING) for word in flags.test]
    chosen, results = reproduced(PAPER, flags, changes, test_sets)
    results = replace(results, chance=_baseline(flags, test_sets))
    return write_page(PAPER, flags.out, page_head(flags, changes), chosen, results, test_sets)


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
    for test_set in sets:
        captions = nearest_captions(training, Manifest.load(test_set.uri), model.feature)
        values |= caption_values(caption_figures(captions, "words"), test_set.name)
    return values
