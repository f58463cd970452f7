"""Table 1 of Siamese Capsule Networks: published metrics on AT&T and LFW, and ours over test groups."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.tables import paper
from vtr_core.metrics.intervals import estimate


@dataclass(frozen=True)
class Published:
    """A row's printed figures: accuracies in percent, and losses."""

    train_accuracy: float
    train_loss: float
    test_accuracy: float
    test_loss: float


@dataclass(frozen=True)
class PaperRow:
    """A row of the paper's table; `published` is None where the text names a model that the table does not have."""

    title: str
    variant: str
    """The variant of the base preset."""
    published: Published | None
    double_margin: bool = False
    """Trained with Equation 5 in place of the preset's loss."""

    @property
    def name(self) -> str:
        """The row's folder, and its name in --only."""
        name = self.variant or "scn"
        return f"{name}-double-margin" if self.double_margin else name


@dataclass(frozen=True)
class FaceTable:
    """The rows of one data set."""

    title: str
    rows: Sequence[PaperRow]
    validated_by: str
    """What gives the threshold."""
    least: int
    """The size of the data below which figures cannot be compared with the paper's: View 2 of LFW has 6,000 pairs, and
    seven groups of five of AT&T's 40 subjects can be tested one after the other."""
    counted: str
    """What `least` is a number of."""


def _table(name: str) -> FaceTable:
    """A table of the file of the paper's figures."""
    file = Path(paper.__file__).parent / "papers" / "siamese.json"
    values = json.loads(file.read_text(encoding="utf-8"))[name]
    rows = [
        PaperRow(**{**row, "published": Published(*row["published"]) if "published" in row else None})
        for row in values["rows"]
    ]
    return FaceTable(**{**values, "rows": rows})


ATT, LFW = _table("att"), _table("lfw")
COLUMNS = (
    ("train/accuracy", "train acc."),
    ("train/loss", "train CL"),
    ("test/accuracy", "test acc."),
    ("test/loss", "test CL"),
    ("test/accuracy_at_margin", "test acc. at the margin"),
    ("test/auc", "test AUC"),
    ("test/eer", "test EER"),
)
"""Columns: our metric, and heading."""

Figures = Mapping[str, Sequence[Mapping[str, float]]]
"""By row, the metrics of each finished group."""


def markdown(table: FaceTable, figures: Figures, groups: int, size: int) -> str:
    """The table: `paper → ours ± standard deviation over groups`, and the finished groups.

    size: how many of `table.counted` the data have.
    """
    heads = ["Model", "groups", *(heading for _, heading in COLUMNS)]
    lines = [_line(heads), _line(["---"] + ["---:"] * (len(heads) - 1))]
    for row in table.rows:
        found = figures.get(row.name, ())
        cells = [_cell(row.published, name, [values[name] for values in found]) for name, _ in COLUMNS]
        lines.append(_line([row.title, f"{len(found)} of {groups}", *cells]))
    return "\n".join([*lines, "", *_remarks(table, size), ""])


def _cell(published: Published | None, name: str, values: Sequence[float]) -> str:
    digits = 3 if name.endswith("loss") else 2
    value = None if published is None else vars(published).get(name.replace("/", "_"))
    printed = "" if value is None else f"{value:.{_digits(value, digits)}f} → "
    if not values:
        return f"{printed}–"
    found = estimate(values)
    spread = "" if found.deviation is None else f" ± {found.deviation:.{digits}f}"
    return f"{printed}**{found.mean:.{digits}f}**{spread}"


def _digits(value: float, digits: int) -> int:
    """Digits of a printed figure, of which LFW's training losses have four."""
    return digits if round(value, digits) == value else digits + 1


def _remarks(table: FaceTable, size: int) -> list[str]:
    """How to read the table, and whether the data are large enough to compare it with the paper's."""
    lines = [
        f"- Accuracies and areas in percent, at the threshold of equal error rates on {table.validated_by}; CL is "
        "the mean of the loss, Equation 4 or 5, over a balanced list of pairs, at our margin.",
        "- Ours: mean ± standard deviation over test groups of subjects that were in no training; the paper's figures "
        "are the best of its tests.",
    ]
    if size < table.least:
        few = f"the data have {size:,} {table.counted}, {table.least:,} are the least that can be compared"
        lines.append(f"- **These figures mean nothing** beside the paper's: {few}.")
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
