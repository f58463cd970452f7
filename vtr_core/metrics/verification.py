"""Verification metrics of face pairs: accuracy at a threshold on their distance, ROC, EER, TAR at FAR."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import mannwhitneyu, sem

from vtr_core.errors import InputError
from vtr_core.metrics.intervals import wilson_interval

FALSE_ACCEPT_RATES = (1e-3, 1e-2, 1e-1)


@dataclass(frozen=True)
class RocCurve:
    """The rates at every threshold that separates some pairs, from accepting none to accepting all.

    Pairs are accepted, that is called the same face, where their distance is at most the threshold.
    """

    false_accept: Float[np.ndarray, " points"]
    """Share of different pairs that are accepted, rising."""
    true_accept: Float[np.ndarray, " points"]
    """Share of matching pairs that are accepted, rising."""


@dataclass(frozen=True)
class VerificationMetrics:
    """Metrics of a list of pairs; rates in [0, 1]."""

    accuracy: float
    """At the threshold that was given."""
    accuracy_interval: tuple[float, float]
    """Wilson's of 95 %, as if pairs were independent; pairs of one subject are not, so it is rather too narrow."""
    threshold: float
    best_accuracy: float
    """At the best threshold for these very pairs: an upper bound, no result."""
    best_threshold: float
    auc: float
    """Area under the ROC curve: the chance that a different pair is farther than a matching one, ties a half."""
    equal_error_rate: float
    true_accept: dict[float, float]
    """TAR at each false accept rate: the largest share of matching pairs accepted with no more false accepts."""
    num_matching: int
    num_different: int

    def flat(self) -> dict[str, float]:
        """The metrics by name, as they are logged; rates in [0, 1]."""
        tar = {f"tar_far_{rate:g}".replace("-", "m").replace(".", "p"): v for rate, v in self.true_accept.items()}
        return {
            "accuracy": self.accuracy,
            "accuracy_low": self.accuracy_interval[0],
            "accuracy_high": self.accuracy_interval[1],
            "threshold": self.threshold,
            "best_accuracy": self.best_accuracy,
            "auc": self.auc,
            "eer": self.equal_error_rate,
            **tar,
        }


def verification_metrics(
    distances: Float[np.ndarray, " pairs"],
    different: Bool[np.ndarray, " pairs"],
    threshold: float,
) -> VerificationMetrics:
    """The metrics of pairs: a pair is called different where its distance is above `threshold`.

    A distance equal to the threshold is the same face. Raises InputError unless there are pairs of both kinds, and for
    a distance or a threshold that is not finite.
    """
    if not different.any() or different.all():
        raise InputError(
            f"{int(different.sum())} different pairs and {int((~different).sum())} matching ones; "
            "verification needs both kinds"
        )
    if not np.isfinite(distances).all() or not math.isfinite(threshold):
        raise InputError("a distance or the threshold is not finite; see the checkpoint's training")
    curve = roc_curve(distances, different)
    best, best_accuracy = best_threshold(distances, different)
    right = int(((distances > threshold) == different).sum())
    return VerificationMetrics(
        accuracy=right / len(distances),
        accuracy_interval=wilson_interval(right / len(distances), len(distances)),
        threshold=float(threshold),
        best_accuracy=best_accuracy,
        best_threshold=best,
        auc=area(distances, different),
        equal_error_rate=equal_error_rate(curve),
        true_accept={rate: true_accept_at(curve, rate) for rate in FALSE_ACCEPT_RATES},
        num_matching=int((~different).sum()),
        num_different=int(different.sum()),
    )


def roc_curve(distances: Float[np.ndarray, " pairs"], different: Bool[np.ndarray, " pairs"]) -> RocCurve:
    """The curve over all distinct distances, preceded by the point that accepts nothing."""
    order = np.argsort(distances, kind="stable")
    ordered, apart = distances[order], different[order]
    last = np.flatnonzero(np.append(np.diff(ordered) > 0, True))  # equal distances are accepted together
    accepted_apart, accepted_matching = np.cumsum(apart)[last], np.cumsum(~apart)[last]
    return RocCurve(
        false_accept=np.concatenate([[0.0], accepted_apart / different.sum()]),
        true_accept=np.concatenate([[0.0], accepted_matching / (~different).sum()]),
    )


def best_threshold(
    distances: Float[np.ndarray, " pairs"], different: Bool[np.ndarray, " pairs"]
) -> tuple[float, float]:
    """The threshold with the highest accuracy, and that accuracy; of several such thresholds the middle one.

    It is the midpoint of two neighbouring distances, or 1e-6 outside all of them.
    """
    cuts = _cuts(distances)
    matching, apart = np.sort(distances[~different]), np.sort(distances[different])
    right = np.searchsorted(matching, cuts, "right") + len(apart) - np.searchsorted(apart, cuts, "right")
    best = np.flatnonzero(right == right.max())
    chosen = best[len(best) // 2]
    return float(cuts[chosen]), float(right[chosen] / len(distances))


def equal_error_threshold(distances: Float[np.ndarray, " pairs"], different: Bool[np.ndarray, " pairs"]) -> float:
    """The threshold at which the false accept and false reject rates differ least; of two, the larger.

    Candidates are those of `best_threshold`. With few subjects it varies less than the threshold with the highest
    accuracy: it is the crossing of two monotone rates, not the maximum of a noisy curve.
    """
    cuts = _cuts(distances)
    matching, apart = np.sort(distances[~different]), np.sort(distances[different])
    false_accept = np.searchsorted(apart, cuts, "right") / len(apart)
    false_reject = 1 - np.searchsorted(matching, cuts, "right") / len(matching)
    gap = np.abs(false_accept - false_reject)
    return float(cuts[np.flatnonzero(gap == gap.min())[-1]])


def _cuts(distances: Float[np.ndarray, " pairs"]) -> Float[np.ndarray, " cuts"]:
    """All thresholds that separate pairs: midpoints of neighbouring distances, and 1e-6 outside all of them."""
    ordered = np.unique(distances)
    return np.concatenate([[ordered[0] - 1e-6], (ordered[1:] + ordered[:-1]) / 2, [ordered[-1] + 1e-6]])


def area(distances: Float[np.ndarray, " pairs"], different: Bool[np.ndarray, " pairs"]) -> float:
    """The area under the ROC curve as the Mann-Whitney statistic: P(D different > D matching) + ½ P(equal)."""
    matching, apart = distances[~different], distances[different]
    return float(mannwhitneyu(apart, matching, method="asymptotic").statistic / (len(apart) * len(matching)))


def equal_error_rate(curve: RocCurve) -> float:
    """The equal error rate, interpolated linearly between the points of the curve."""
    reject = 1 - curve.true_accept
    after = int(np.argmax(curve.false_accept >= reject))
    a, b = after - 1, after
    gap = (reject[a] - curve.false_accept[a], reject[b] - curve.false_accept[b])
    share = gap[0] / (gap[0] - gap[1])
    return float(curve.false_accept[a] + share * (curve.false_accept[b] - curve.false_accept[a]))


def true_accept_at(curve: RocCurve, false_accept_rate: float) -> float:
    """The largest share of matching pairs accepted at a false accept rate of at most the given one."""
    return float(curve.true_accept[curve.false_accept <= false_accept_rate].max())


@dataclass(frozen=True)
class FoldAccuracy:
    """The mean over folds and its standard error, as LFW's View 2 reports them."""

    mean: float
    standard_error: float
    folds: tuple[float, ...]


def fold_accuracy(
    distances: Float[np.ndarray, " pairs"], different: Bool[np.ndarray, " pairs"], fold: Sequence[int]
) -> FoldAccuracy:
    """Each fold's accuracy at the threshold that is best on all other folds (LFW View 2, Huang et al. 2007).

    The standard error is the standard deviation over folds (n − 1) divided by √n. Raises InputError with fewer than two
    folds.
    """
    folds = np.asarray(fold)
    names = np.unique(folds)
    if len(names) < 2:
        raise InputError(f"pairs of {len(names)} fold cannot be cross-validated; give pairs of at least 2, LFW has 10")
    accuracies = []
    for name in names:
        inside = folds == name
        threshold, _ = best_threshold(distances[~inside], different[~inside])
        accuracies.append(float(((distances[inside] > threshold) == different[inside]).mean()))
    return FoldAccuracy(float(np.mean(accuracies)), float(sem(accuracies)), tuple(accuracies))
