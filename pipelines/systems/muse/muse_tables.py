"""`vtr tables muse`: Tables 1 to 11 of Tang et al. 2025, published metrics beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.tables.command import PaperTablesFlags, run_paper
from pipelines.tables.layout import load_paper

PAPER = load_paper("muse")


@dataclass(frozen=True)
class TablesFlags(PaperTablesFlags):
    """Flags of `vtr tables muse`; settings of all runs are given as --a.b value."""

    preset: str = "muse-msrvtt"
    """Base preset, whose variants are the rows; a small one makes small tables."""
    test: tuple[str, ...] = ()
    """Test sets as name=URI; msrvtt fills the paper's columns, others get columns of their own."""
    out: str = "runs/tables-muse"
    """Folder of the runs and tables; finished runs are reused, interrupted ones resumed."""
    benchmark: str | None = None
    """Result of `python -m benchmarks.muse`, for the memory column."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    run_paper(argv, "muse", TablesFlags, __name__)


def tables(flags: TablesFlags, changes: Mapping[str, Any]) -> str:
    """Trains and evaluates missing rows, writes `tables.md` and `tables.json` into the folder, and returns the page."""
    from pipelines.tables.runs import page_head, parse_test_set, reproduced, with_costs, write_page

    test_sets = [parse_test_set(word, "retrieval") for word in flags.test]
    chosen, results = reproduced(PAPER, flags, changes, test_sets)
    results = with_costs(results, flags.benchmark, "muse", _costs)
    return write_page(PAPER, flags.out, page_head(flags, changes), chosen, results, test_sets)


def _costs(measured: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The memory of a training step with each learner, relative to Mamba's."""
    memory = {row["learner"]: row["peak_gb"] for row in measured["learners"] if row["peak_gb"] is not None}
    variants = {"transformer": "transformer", "flash": "flash", "mamba_out": "mamba-out", "mamba": ""}
    return {variants[name]: {"memory": own / memory["mamba"]} for name, own in memory.items() if name in variants}
