"""The result of verifying a data set's pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vtr_core.data.manifest import Manifest
from vtr_core.metrics.verification import FoldAccuracy, VerificationMetrics
from vtr_core.systems.siamese.verification import ScoredPairs, SubjectErrors


@dataclass(frozen=True)
class Without:
    """Metrics of the same pairs without a mechanism of the model."""

    metrics: VerificationMetrics
    remark: str


@dataclass(frozen=True)
class VerificationResult:
    """The metrics of one data set: at the validation threshold, and at the margin, as in the paper."""

    name: str
    manifest: Manifest
    scored: ScoredPairs
    metrics: VerificationMetrics
    at_margin: VerificationMetrics
    loss: float
    """The training loss, as its mean over the pairs."""
    folds: FoldAccuracy | None
    """Fold accuracies of a list with folds, such as LFW's View 2."""
    subjects: Sequence[SubjectErrors]
    without: Mapping[str, Without] = field(default_factory=dict)
    """Metrics by ablated mechanism."""

    def metric_values(self, prefix: str) -> dict[str, float]:
        """The metrics by name; rates in percent."""
        rates = {name: v if name == "threshold" else 100.0 * v for name, v in self.metrics.flat().items()}
        values = {**rates, "accuracy_at_margin": 100.0 * self.at_margin.accuracy, "loss": self.loss}
        if self.folds is not None:
            folds = {"accuracy_folds": self.folds.mean, "accuracy_folds_se": self.folds.standard_error}
            values |= {name: 100.0 * value for name, value in folds.items()}
        for name, without in self.without.items():
            rates = {"auc": without.metrics.auc, "eer": without.metrics.equal_error_rate}
            values |= {f"without_{name}/{figure}": 100.0 * value for figure, value in rates.items()}
        return {f"{prefix}/{name}": value for name, value in values.items()}
