"""A paper's tables as data, `papers/<name>.json`: what they print, and which of our presets their rows are."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

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
