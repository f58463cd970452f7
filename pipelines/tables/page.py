"""A paper's tables from the runs of a folder: selection, training of rows, and output."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.arguments import check_counts
from pipelines.report.links import print_link
from pipelines.tables.flags import PaperTablesFlags
from pipelines.tables.runs import Sweep, TestSet, check_sets
from vtr_core import storage
from vtr_core.errors import ConfigError
from vtr_core.storage import locate
from vtr_core.tables.layout import OwnSet, markdown
from vtr_core.tables.table import Paper, Results, Table


def chosen_tables(paper: Paper, flags: PaperTablesFlags) -> list[Table]:
    """The tables of --only, or all; ConfigError for unknown tables."""
    wanted = {str(number) for number in flags.only}
    chosen = [table for table in paper.tables if not wanted or str(table.number) in wanted]
    if not chosen:
        raise ConfigError(f"--only {' '.join(sorted(wanted))}: the paper has tables {_span(paper)}")
    return chosen


def _span(paper: Paper) -> str:
    first, *others, last = (table.number for table in paper.tables)
    if isinstance(first, str):
        return ", ".join(map(str, (first, *others, last)))
    return f"{first} to {last}" if others else f"{first} and {last}"


def variants_of(tables: Sequence[Table]) -> list[str]:
    """The preset variants of the tables' rows, without duplicates."""
    return list(dict.fromkeys(row.variant for table in tables for row in table.rows if row.variant is not None))


def sweep(paper: Paper, flags: PaperTablesFlags, test_sets: Sequence[TestSet]) -> Sweep:
    """The training and evaluation of rows, after a check of all data sets.

    ConfigError without test sets, DatasetError for an unusable data set.
    """
    if not test_sets:
        prog = f"vtr tables {paper.name}"
        raise ConfigError(f"{prog} --data needs something to evaluate on: sets as name=URI, which {prog} --help lists")
    assert flags.data is not None
    check_counts(f"vtr tables {paper.name}", seeds=flags.seeds, max_concurrent=flags.max_concurrent)
    check_sets(flags.preset, flags.data, flags.validation, test_sets)
    return Sweep(
        flags.out,
        flags.data,
        flags.validation,
        test_sets,
        flags.seeds,
        flags.experiment,
        max_concurrent=flags.max_concurrent,
    )


def write_page(
    paper: Paper,
    flags: PaperTablesFlags,
    changes: Mapping[str, Any],
    chosen: Sequence[Table],
    results: Results,
    test_sets: Sequence[TestSet],
) -> str:
    """Write `tables.md` and `tables.json` into the folder; returns the content of `tables.md`."""
    own = [OwnSet(one.name, one.kind) for one in test_sets if one.name not in paper.data_sets]
    page = "\n".join([_head(paper, flags, changes), *(markdown(table, results, own) for table in chosen)])
    folder = locate(flags.out)
    storage.write_bytes(folder / "tables.md", page.encode())
    print_link(folder / "tables.md")
    storage.write_json(folder / "tables.json", {"figures": results.figures, paper.compared_with: results.chance})
    return page


def _head(paper: Paper, flags: PaperTablesFlags, changes: Mapping[str, Any]) -> str:
    settings = "".join(f" --{name} {value}" for name, value in changes.items())
    trained = f"trained on {flags.data}" if flags.data else "no training data given"
    return (
        f"# {paper.title}\n\nCells: the paper's figure → ours, the mean over seeds ± half the width of its 95 % "
        f"confidence interval; {paper.units}.\nRows are variants of `{flags.preset}`{settings}, {trained}; "
        f"seeds: {flags.seeds}.{paper.remark}\n"
    )
