"""Table 1 of Siamese Capsule Networks, AT&T: published metrics, and ours over test groups beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vtr_core.tables.interval import estimate

TARGET = 94.2
"""Target test accuracy of the capsule network, in percent."""


@dataclass(frozen=True)
class PaperRow:
    """A row of the paper's table: accuracies in percent, contrastive losses; `variant` is that of our preset.

    None where the text names a model that the table does not have.
    """

    title: str
    variant: str
    train_accuracy: float | None
    train_loss: float | None
    test_accuracy: float | None
    test_loss: float | None


ROWS = (
    PaperRow("LeNet", "lenet", 91.82, 0.013, 87.09, 0.042),
    PaperRow("ResNet-34", "resnet-34", 94.80, 0.015, 92.05, 0.057),
    PaperRow("AlexNet", "alexnet", 93.64, 0.032, 91.20, 0.085),
    PaperRow("InceptionV3, 6 modules", "inception-v3", None, None, None, None),
    PaperRow("SCN", "", 95.32, 0.008, 94.21, 0.019),
    PaperRow("SDropCapNet", "drop-caps", 95.85, 0.010, 94.71, 0.032),
)
COLUMNS = (
    ("train/accuracy", "train acc.", "train_accuracy"),
    ("train/loss", "train CL", "train_loss"),
    ("test/accuracy", "test acc.", "test_accuracy"),
    ("test/loss", "test CL", "test_loss"),
    ("test/accuracy_at_margin", "test acc. at the margin", ""),
    ("test/auc", "test AUC", ""),
    ("test/eer", "test EER", ""),
)
"""Columns: our metric, heading, and the paper's field where it reports one."""

Figures = Mapping[str, Sequence[Mapping[str, float]]]
"""By variant, the metrics of each finished group."""


def markdown(figures: Figures, groups: int) -> str:
    """The table: `paper → ours ± standard deviation over groups`, the finished groups, and whether the target is
    reached.
    """
    heads = ["Model", "groups", *(heading for _, heading, _ in COLUMNS)]
    lines = [_line(heads), _line(["---"] + ["---:"] * (len(heads) - 1))]
    for row in ROWS:
        found = figures.get(row.variant, ())
        cells = [_cell(row, name, field, [values[name] for values in found]) for name, _, field in COLUMNS]
        lines.append(_line([row.title, f"{len(found)} of {groups}", *cells]))
    return "\n".join([*lines, "", *_remarks(figures), ""])


def _cell(row: PaperRow, name: str, field: str, values: Sequence[float]) -> str:
    digits = 3 if name.endswith("loss") else 2
    paper = {"train_accuracy": row.train_accuracy, "train_loss": row.train_loss}
    paper |= {"test_accuracy": row.test_accuracy, "test_loss": row.test_loss}
    value = paper.get(field)
    printed = "" if value is None else f"{value:.{digits}f} → "
    if not values:
        return f"{printed}–"
    found = estimate(values)
    spread = "" if found.deviation is None else f" ± {found.deviation:.{digits}f}"
    return f"{printed}**{found.mean:.{digits}f}**{spread}"


def _remarks(figures: Figures) -> list[str]:
    """Remarks on the target, over the groups that all compared models have finished, if any."""
    counts = {row.variant: len(figures.get(row.variant, ())) for row in ROWS}
    lines = [
        "- Accuracies and areas in percent, at the threshold of equal error rates on the validation subjects; CL is "
        "the mean of Equation 4 over a balanced list of pairs, at our margin.",
        "- Ours: mean ± standard deviation over test groups of subjects that were in no training; the paper's figures "
        "are the best of its tests.",
    ]
    baselines = [v for v in ("lenet", "alexnet", "resnet-34", "inception-v3") if counts[v]]
    if not counts[""]:
        return lines
    own = estimate([values["test/accuracy"] for values in figures[""]]).mean
    met = "reached" if own >= TARGET else "not reached"
    lines.append(f"- Goal of {TARGET} % test accuracy for SCN: {met}, {own:.2f} %.")
    if baselines:
        means = {v: estimate([values["test/accuracy"] for values in figures[v]]).mean for v in baselines}
        best = max(means, key=lambda name: means[name])
        word = "above" if own > means[best] else "not above"
        lines.append(
            f"- SCN is {word} the best convolutional network that was trained, {best} with {means[best]:.2f} %."
        )
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
