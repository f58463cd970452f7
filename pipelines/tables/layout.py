"""A table of a paper: its rows and columns, laid out as text."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vtr_core.metrics.intervals import Estimate, estimate

RETRIEVAL, LOCALIZATION, CAPTIONING = "retrieval", "localization", "captioning"
"""The tasks that tables are of."""


@dataclass(frozen=True)
class Column:
    """One figure of a row: the data set it is on and its metric, as `<set>/<metric>`.

    A metric with `{direction}` in it is the row's: t2v where a method sees video, t2va where it hears audio too.
    """

    data_set: str
    metric: str
    heading: str
    digits: int = 1
    """Behind the point."""


@dataclass(frozen=True)
class Row:
    """One method: the figures that the paper printed, column by column, None where it printed a dash."""

    title: str
    paper: tuple[float | None, ...]
    variant: str | None = None
    """The preset variant that reproduces it; "" is the base preset itself, None another group's system."""
    direction: str = "t2va"
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A numbered table; every row has a figure, or None, for every column."""

    number: int | str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    relative_to: str | None = None
    """The variant whose time and memory are 1 in the columns of the benchmark."""
    kind: str = RETRIEVAL
    """The task: own sets of the same one have columns here."""
    baseline: str = "chance"
    """The baseline in the last row, for data sets that the paper does not have."""

    def __post_init__(self) -> None:
        for row in self.rows:
            assert len(row.paper) == len(self.columns), row.title


@dataclass(frozen=True)
class Paper:
    """A paper's tables and what their page says above them."""

    name: str
    """The name in `vtr tables`."""
    title: str
    units: str
    tables: tuple[Table, ...]
    data_sets: tuple[str, ...]
    """The data sets with columns."""
    remark: str = ""
    """A sentence at the end of the page's head, after a blank."""
    over: str = "seeds"
    """What the figures of a row are repeated over."""
    compared_with: str = "chance"
    """The key of the tables' baseline in tables.json."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """By data set, how to have its figures where it is not given."""

    def not_given(self, names: Collection[str], data: str | None) -> dict[str, str]:
        """Why data sets of the paper have no figures of ours: not among `names`, or nothing was trained."""
        untrained = ["No training data was given: --data URI."] if data is None else []
        reasons = {
            name: " ".join([*untrained, *([reason] if name not in names else [])])
            for name, reason in self.missing.items()
        }
        return {name: reason for name, reason in reasons.items() if reason}


def load_paper(name: str) -> Paper:
    """The tables of a paper. A column is written as [data set, metric, heading, digits], a dash as null."""
    values = json.loads((Path(__file__).parent / "papers" / f"{name}.json").read_text(encoding="utf-8"))
    tables = []
    for table in values.pop("tables"):
        rows = tuple(Row(**{**row, "paper": tuple(row["paper"])}) for row in table["rows"])
        columns = tuple(Column(*column) for column in table["columns"])
        tables.append(Table(**{**table, "columns": columns, "rows": rows}))
    return Paper(**{**values, "data_sets": tuple(values["data_sets"])}, tables=tuple(tables))


@dataclass(frozen=True)
class Results:
    """Our results: by variant, then metric name `<set>/<metric>`, one value per seed."""

    figures: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    """By metric name, the value of a random ranking, or of the table's baseline."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """By data set, the reason for missing results."""
    not_run: Mapping[str, str] = field(default_factory=dict)
    """By variant, why its rows were not run."""
    similarities: Mapping[str, str] = field(default_factory=dict)
    """By variant, what its embeddings were compared by in training, at the choice of checkpoints and in its figures."""
    deviations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By variant, the settings that differ from the paper's."""


NOTHING, NO_AUDIO = "–", "no audio"
_OWN_COLUMNS: Mapping[str, Mapping[str, str]] = {
    RETRIEVAL: {f"{{direction}}/{metric}": name for metric, name in (("r1", "R@1"), ("r10", "R@10"), ("medr", "MedR"))},
    LOCALIZATION: {"recall_task": "recall", "iod_segment": "IoD", "iou_segment": "IoU"},
    CAPTIONING: {"bleu1": "B@1", "bleu4": "B@4", "meteor": "METEOR", "rouge_l": "ROUGE-L", "cider": "CIDEr"},
}
"""Headings of the metrics of a data set that the paper does not have, by task."""


@dataclass(frozen=True)
class OwnSet:
    """A data set that the paper does not have, with columns of its own after the paper's."""

    name: str
    kind: str
    """RETRIEVAL, LOCALIZATION or CAPTIONING: the task of the tables that it appears in."""

    def columns(self) -> tuple[Column, ...]:
        """The figures shown of it."""
        return tuple(Column(self.name, metric, heading) for metric, heading in _OWN_COLUMNS[self.kind].items())


def markdown(table: Table, results: Results, own_sets: Sequence[OwnSet] = ()) -> str:
    """The table's page: `paper → ours ± half the 95 % interval`, then what is missing and why, and the notes.

    On data sets of our own there is no figure of the paper, only ours. In rows that hear audio a set without audio says
    so.
    """
    own = tuple(column for own_set in own_sets if own_set.kind == table.kind for column in own_set.columns())
    columns = (*table.columns, *own)
    heads = ["Method", *(f"{column.data_set} {column.heading}" for column in columns)]
    lines = [f"## Table {table.number}: {table.title}", "", _line(heads), _line(["---"] + ["---:"] * len(columns))]
    for row in table.rows:
        printed = (*row.paper, *(None for _ in own))
        cells = [_cell(table, row, column, figure, results) for column, figure in zip(columns, printed, strict=True)]
        lines.append(_line([row.title, *cells]))
    if own and results.chance:
        lines.append(_line([f"*{table.baseline}*", *(_chance(column, results) for column in columns)]))
    return "\n".join([*lines, "", *_remarks(table, results), ""])


def _cell(table: Table, row: Row, column: Column, printed: float | None, results: Results) -> str:
    paper = NOTHING
    if printed is not None:
        paper = f"{printed:g}" if column.data_set == "benchmark" else f"{printed:.{column.digits}f}"
    own = results.figures.get(row.variant, {}) if row.variant is not None else {}
    values = own.get(_name(column, row.direction))
    ours = estimate(values) if values else None
    hears = row.direction == "t2va" and "{direction}" in column.metric
    if ours is None and hears and _name(column, "t2v") in own:  # it was tested on a set without audio
        return NO_AUDIO if printed is None else f"{paper} → {NO_AUDIO}"
    if column.data_set == "benchmark" and ours is not None and printed is not None:
        reference = next(r for r in table.rows if r.variant == table.relative_to)
        of_reference = reference.paper[table.columns.index(column)]
        assert of_reference
        return f"{paper} ({printed / of_reference:.2f}×) → {ours.mean:.2f}×"
    if ours is None:
        return paper
    shown = estimate_cell(ours, column.digits)
    return shown if printed is None and column not in table.columns else f"{paper} → {shown}"


def _name(column: Column, direction: str) -> str:
    return f"{column.data_set}/{column.metric.format(direction=direction)}"


def _chance(column: Column, results: Results) -> str:
    """A random ranking's metric, with audio where the set has any."""
    for name in (_name(column, "t2va"), _name(column, "t2v")):
        if name in results.chance:
            return f"{results.chance[name]:.1f}"
    return NOTHING


def estimate_cell(value: Estimate, digits: int) -> str:
    """The mean in bold, and half the width of its interval where several seeds give one."""
    if value.half_width is None:
        return f"**{value.mean:.{digits}f}**"
    return f"**{value.mean:.{digits}f}** ± {value.half_width:.{digits}f}"


def _remarks(table: Table, results: Results) -> Iterator[str]:
    names = dict.fromkeys(column.data_set for column in table.columns)
    for name in names:
        if name in results.missing:
            yield f"- {name}: not run. {results.missing[name]}"
    for row in table.rows:
        if row.variant is not None and row.variant in results.not_run:
            yield f"- {row.title}: not run. {results.not_run[row.variant]}"
        if row.note:
            yield f"- {row.title}: {row.note}."
    yield from _similarities(table, results)
    yield from _deviations(table, results)
    published_only = [row.title for row in table.rows if row.variant is None]
    if published_only:
        yield f"- Figures of the paper only, not of this project's systems: {', '.join(published_only)}."


def _similarities(table: Table, results: Results) -> Iterator[str]:
    """The similarities of the rows, those of the same together."""
    rows: dict[str, list[str]] = {}
    for row in table.rows:
        if row.variant is not None and row.variant in results.similarities:
            rows.setdefault(results.similarities[row.variant], []).append(row.title)
    for similarity, titles in rows.items():
        yield f"- {', '.join(titles)}: {similarity}."


def _deviations(table: Table, results: Results) -> Iterator[str]:
    """What differs from the paper in all rows, then what else does in each."""
    own = results.deviations
    rows = {row.title: own[row.variant] for row in table.rows if row.variant is not None and row.variant in own}
    shared = [text for text in next(iter(rows.values()), ()) if all(text in every for every in rows.values())]
    if shared:
        yield f"- Settings of our rows that differ from the paper's: {'; '.join(shared)}."
    for title, deviations in rows.items():
        if others := [text for text in deviations if text not in shared]:
            yield f"- {title}: {'; '.join(others)}."


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
