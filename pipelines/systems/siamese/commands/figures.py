"""The ROC curve of each data set, and the densities of distances of matching and different pairs."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vtr_core.metrics.verification import roc_curve
from pipelines.systems.siamese.commands.result import VerificationResult

_BINS = 40
_COLOURS = {"matching": "#4c72b0", "different": "#dd8452"}


def verification_figure(results: Sequence[VerificationResult]) -> Figure:
    """A row for each data set: its curve on the left, densities of distances on the right, as the paper's Figure 2."""
    figure = Figure(figsize=(9, 3.6 * len(results)), layout="constrained")
    axes = figure.subplots(len(results), 2, squeeze=False)
    for result, (left, right) in zip(results, axes, strict=True):
        _roc(result, left)
        _densities(result, right)
    return figure


def _roc(result: VerificationResult, axes: Axes) -> None:
    distance, different = result.scored.distance, result.scored.different
    curve, found = roc_curve(distance, different), result.metrics
    axes.plot(100 * curve.false_accept, 100 * curve.true_accept, color="#4c72b0")
    axes.plot([0, 100], [0, 100], ":", color="grey", linewidth=1)
    accepted = distance <= found.threshold
    here = 100 * accepted[different].mean(), 100 * accepted[~different].mean()
    axes.plot(*here, "o", color="#c44e52", label=f"validation's threshold {found.threshold:.3f}")
    axes.set(xlabel="different pairs accepted, %", ylabel="matching pairs accepted, %", xlim=(-1, 101), ylim=(-1, 101))
    title = f"{result.name}: AUC {100 * found.auc:.2f} %, EER {100 * found.equal_error_rate:.2f} %"
    axes.set_title(title, parse_math=False, loc="left", fontsize=10)
    axes.legend(loc="lower right", fontsize=8)


def _densities(result: VerificationResult, axes: Axes) -> None:
    densities(result.scored.distance, result.scored.different, axes)
    axes.axvline(result.metrics.threshold, color="#c44e52", label="validation's threshold")
    axes.axvline(result.at_margin.threshold, color="grey", linestyle=":", label="margin")
    axes.set(xlabel="distance of encodings", ylabel="density")
    axes.legend(fontsize=8)


def densities(distance: Float[np.ndarray, " pairs"], different: Bool[np.ndarray, " pairs"], axes: Axes) -> None:
    """Histograms of the distances of matching and of different pairs, each of area 1."""
    bins = np.linspace(0, max(float(distance.max()), 1e-6), _BINS)
    for name, chosen in (("matching", ~different), ("different", different)):
        axes.hist(distance[chosen], bins.tolist(), density=True, alpha=0.6, label=name, color=_COLOURS[name])
