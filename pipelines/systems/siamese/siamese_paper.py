"""Table 1 of Siamese Capsule Networks: published metrics on AT&T and LFW, and ours over test groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    target: float
    """Test accuracy of SCN that is aimed at, in percent."""
    validated_by: str
    """What gives the threshold."""
    least: int
    """The size of the data below which figures cannot be compared with the paper's: View 2 of LFW has 6,000 pairs, and
    seven groups of five of AT&T's 40 subjects can be tested one after the other."""
    counted: str
    """What `least` is a number of."""


ATT = FaceTable(
    "AT&T",
    (
        PaperRow("LeNet", "lenet", Published(91.82, 0.013, 87.09, 0.042)),
        PaperRow("ResNet-34", "resnet-34", Published(94.80, 0.015, 92.05, 0.057)),
        PaperRow("AlexNet", "alexnet", Published(93.64, 0.032, 91.20, 0.085)),
        PaperRow("InceptionV3, 6 modules", "inception-v3", None),
        PaperRow("SCN", "", Published(95.32, 0.008, 94.21, 0.019)),
        PaperRow("SDropCapNet", "drop-caps", Published(95.85, 0.010, 94.71, 0.032)),
    ),
    target=94.2,
    validated_by="the validation subjects",
    least=35,
    counted="subjects",
)
LFW = FaceTable(
    "LFW",
    (
        PaperRow("LeNet", "lenet", Published(92.89, 0.0021, 91.34, 0.012)),
        PaperRow("ResNet-34", "resnet-34", Published(96.21, 0.0018, 95.48, 0.012)),
        PaperRow("AlexNet", "alexnet", Published(95.78, 0.0019, 95.08, 0.009)),
        PaperRow("InceptionV3, 6 modules", "inception-v3", None),
        PaperRow("SCN", "", Published(96.12, 0.0020, 95.79, 0.013)),
        PaperRow("SDropCapNet", "drop-caps", Published(96.34, 0.0023, 96.08, 0.010)),
        PaperRow("LeNet, double margin", "lenet", Published(93.02, 0.0049, 92.48, 0.014), True),
        PaperRow("ResNet-34, double margin", "resnet-34", Published(97.20, 0.0026, 96.53, 0.013), True),
        PaperRow("AlexNet, double margin", "alexnet", Published(96.91, 0.0021, 96.14, 0.010), True),
        PaperRow("InceptionV3, 6 modules, double margin", "inception-v3", None, True),
        PaperRow("SCN, double margin", "", Published(97.83, 0.0019, 97.47, 0.011), True),
        PaperRow("SDropCapNet, double margin", "drop-caps", Published(97.88, 0.0028, 96.90, 0.010), True),
    ),
    target=95.79,
    validated_by="the next fold",
    least=6000,
    counted="pairs",
)
SCN, BASELINES = "scn", ("lenet", "alexnet", "resnet-34", "inception-v3")
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
    """The table: `paper → ours ± standard deviation over groups`, the finished groups, and whether the target is
    reached, which is said only of data that are large enough, and once SCN has finished all groups.

    size: how many of `table.counted` the data have.
    """
    heads = ["Model", "groups", *(heading for _, heading in COLUMNS)]
    lines = [_line(heads), _line(["---"] + ["---:"] * (len(heads) - 1))]
    for row in table.rows:
        found = figures.get(row.name, ())
        cells = [_cell(row.published, name, [values[name] for values in found]) for name, _ in COLUMNS]
        lines.append(_line([row.title, f"{len(found)} of {groups}", *cells]))
    return "\n".join([*lines, "", *_remarks(table, figures, groups, size), ""])


def _cell(paper: Published | None, name: str, values: Sequence[float]) -> str:
    digits = 3 if name.endswith("loss") else 2
    value = None if paper is None else vars(paper).get(name.replace("/", "_"))
    printed = "" if value is None else f"{value:.{_digits(value, digits)}f} → "
    if not values:
        return f"{printed}–"
    found = estimate(values)
    spread = "" if found.deviation is None else f" ± {found.deviation:.{digits}f}"
    return f"{printed}**{found.mean:.{digits}f}**{spread}"


def _digits(value: float, digits: int) -> int:
    """Digits of a printed figure, of which LFW's training losses have four."""
    return digits if round(value, digits) == value else digits + 1


def _remarks(table: FaceTable, figures: Figures, groups: int, size: int) -> list[str]:
    """Remarks on how to read the table, and on the target where the data are large enough to judge it."""
    lines = [
        f"- Accuracies and areas in percent, at the threshold of equal error rates on {table.validated_by}; CL is "
        "the mean of the loss, Equation 4 or 5, over a balanced list of pairs, at our margin.",
        "- Ours: mean ± standard deviation over test groups of subjects that were in no training; the paper's figures "
        "are the best of its tests.",
    ]
    if size < table.least:
        few = f"the data have {size:,} {table.counted}, {table.least:,} are the least that can be compared"
        return [*lines, f"- **These figures mean nothing** beside the paper's: {few}. No goal is judged."]
    if not figures.get(SCN):
        return lines
    return [*lines, _goal(table, figures, groups), *_beside_baselines(figures, groups)]


def _goal(table: FaceTable, figures: Figures, groups: int) -> str:
    own = estimate([values["test/accuracy"] for values in figures[SCN]])
    goal = f"- Goal of {table.target} % test accuracy for SCN: "
    if own.seeds < groups:
        return f"{goal}judged when all {groups} groups are finished; {own.mean:.2f} % over {own.seeds}."
    met = "reached" if own.mean >= table.target else "not reached"
    sure = "" if own.half_width is None else f" (± {own.half_width:.2f}, 95 % interval over groups)"
    return f"{goal}{met}, {own.mean:.2f} %{sure}."


def _beside_baselines(figures: Figures, groups: int) -> list[str]:
    """SCN beside the best of the networks that have finished all groups, as it has; nothing where one has not."""
    means = {name: _accuracy(figures, name) for name in BASELINES if len(figures.get(name, ())) == groups}
    if not means or len(figures[SCN]) < groups:
        return []
    own = _accuracy(figures, SCN)
    best = max(means, key=lambda name: means[name])
    word = "above" if own > means[best] else "not above"
    return [f"- SCN is {word} the best convolutional network that was trained, {best} with {means[best]:.2f} %."]


def _accuracy(figures: Figures, name: str) -> float:
    return estimate([values["test/accuracy"] for values in figures[name]]).mean


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
