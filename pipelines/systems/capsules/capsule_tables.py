"""`vtr tables capsules`: Tables 1 to 6 of Duarte et al., published metrics beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.tables.command import PaperTablesFlags, run_paper
from pipelines.tables.layout import load_paper
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from pipelines.tables.runs import TestSet

PAPER = load_paper("capsules")
RETRIEVAL_SETS, LOCALIZATION_SETS = PAPER.data_sets[:2], PAPER.data_sets[2:]
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
    published: bool = False
    """Train each row twice, with the paper's settings and with ours; `--preset capsule-howto-published`: the former."""
    seeds: int = 5
    """Number of training seeds per row."""
    benchmark: str | None = None
    """Result of `python -m benchmarks.routing`, for the time and memory columns."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    run_paper(argv, "capsules", TablesFlags, __name__)


def tables(flags: TablesFlags, changes: Mapping[str, Any]) -> str:
    """Trains and evaluates missing rows, writes `tables.md` and `tables.json` into the folder, and returns the page."""
    from pipelines.tables.runs import page_head, reproduced, with_costs, with_published, write_page

    paper = with_published(PAPER) if flags.published else PAPER
    test_sets = [*_sets(flags.test, "retrieval"), *_sets(flags.steps, "localization")]
    chosen, results = reproduced(paper, flags, changes, test_sets)
    results = with_costs(results, flags.benchmark, "routing", _costs)
    return write_page(paper, flags.out, page_head(flags, changes), chosen, results, test_sets)


def _sets(words: Sequence[str], kind: str) -> "list[TestSet]":
    from pipelines.tables.runs import parse_test_set

    test_sets = [parse_test_set(word, kind) for word in words]
    for test_set in test_sets:
        if test_set.name in (LOCALIZATION_SETS if kind == "retrieval" else RETRIEVAL_SETS):
            flag = "--steps" if kind == "retrieval" else "--test"
            raise ConfigError(f"{test_set.name} is no {kind} set; give it with {flag}")
    return test_sets


def _costs(measured: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Time and memory of a training step, relative to self-attention routing and to C = 128."""
    routings = {f"routing-{kind.replace('_', '-')}": costs for kind, costs in measured["routings"].items()}
    capsules = {CAPSULES[count]: costs for count, costs in measured["capsules"].items()}
    return {
        variant: {
            "time": costs["seconds"] / group[reference]["seconds"],
            "memory": costs["peak_gb"] / group[reference]["peak_gb"],
        }
        for group, reference in ((routings, "routing-self-attention"), (capsules, ""))
        for variant, costs in group.items()
    }
