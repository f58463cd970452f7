"""`vtr evaluate CHECKPOINT --task verification --data URI…`: face verification on pairs of images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.evaluate.evaluation_flags import device, short_names
from pipelines.report.figures import Printed, blank_table, page, show
from pipelines.report.logged_run import EvaluatedSet, log_evaluation
from pipelines.systems.registry import SYSTEMS
from pipelines.systems.siamese.verify_faces import VerificationFlags
from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.evaluated_rows import require_other_subjects
from vtr_core.data.records.schema import require_images
from vtr_core.data.shards.shard_file import usable
from vtr_core.errors import VtrError
from vtr_core.metrics.verification import (
    FoldAccuracy,
    VerificationMetrics,
    fold_accuracy,
    verification_metrics,
)
from vtr_core.storage.stated_places import stated_place
from vtr_core.systems.siamese.model import Siamese
from vtr_core.systems.siamese.verification import (
    decision_threshold,
    encode_faces,
    mean_loss,
    paper_threshold,
    score_pairs,
    siamese,
)
from vtr_core.train.checkpoint.trained_model import LoadedModel, read_model


@dataclass(frozen=True)
class VerificationResult:
    """The metrics of one data set: at the validation threshold, and at the margin, as in the paper."""

    name: str
    manifest: Manifest
    metrics: VerificationMetrics
    at_margin: VerificationMetrics
    loss: float
    """The training loss, as its mean over the pairs."""
    folds: FoldAccuracy | None
    """Fold accuracies of a list with folds, such as LFW's View 2."""

    def metric_values(self, prefix: str) -> dict[str, float]:
        """The metrics by name; rates in percent."""
        rates = {name: v if name == "threshold" else 100.0 * v for name, v in self.metrics.flat().items()}
        values = {**rates, "accuracy_at_margin": 100.0 * self.at_margin.accuracy, "loss": self.loss}
        if self.folds is not None:
            folds = {"accuracy_folds": self.folds.mean, "accuracy_folds_se": self.folds.standard_error}
            values |= {name: 100.0 * value for name, value in folds.items()}
        return {f"{prefix}/{name}": value for name, value in values.items()}


def evaluate(flags: VerificationFlags) -> list[VerificationResult]:
    """Verifies, prints a table for each data set, and logs metrics as one run."""
    manifests = [usable(uri, require_images) for uri in flags.data]
    loaded = read_model(flags.checkpoint, SYSTEMS, device())
    model = siamese(loaded)
    threshold = decision_threshold(loaded, flags.threshold)
    if not flags.allow_seen:
        _require_unseen(loaded, manifests)
    results = []
    for name, manifest in zip(short_names(manifests), manifests, strict=True):
        results.append(_evaluate_one(model, loaded, name, manifest, threshold))
        show(printed(results[-1], loaded.uri))
    sets = [EvaluatedSet(r.name, r.manifest, r.metric_values(f"test/{r.name}")) for r in results]
    tables = page([part for result in results for part in printed(result, loaded.uri)])
    settings = {"task": "verification", "threshold": threshold}
    log_evaluation(flags.experiment, loaded, sets, settings, as_json(results, threshold), tables, flags.out)
    return results


def _require_unseen(loaded: LoadedModel, manifests: Sequence[Manifest]) -> None:
    """DatasetError where a data set shares subjects with the training data, if that is on this machine or beside the
    checkpoint; a checkpoint's word opens no other place."""
    try:
        trained = Manifest.load(stated_place(str(loaded.provenance.get("data", "")), loaded.uri, "--data"))
        known = trained.fingerprint == loaded.provenance.get("data.fingerprint")
    except (VtrError, OSError, ValueError):
        known = False
    if not known:
        print("the training data is not where it was: whether subjects were seen in training is not checked")
        return
    for manifest in manifests:
        if manifest.fingerprint != trained.fingerprint:  # metrics on the training set are labelled so
            require_other_subjects(trained, manifest, "training and test (--allow-seen takes them all the same)")


def _evaluate_one(
    model: Siamese, loaded: LoadedModel, name: str, manifest: Manifest, threshold: float
) -> VerificationResult:

    config = loaded.config
    scored = score_pairs(encode_faces(model, config, manifest), manifest, config)
    distance, different = scored.distance, scored.different
    return VerificationResult(
        name=name,
        manifest=manifest,
        metrics=verification_metrics(distance, different, threshold),
        at_margin=verification_metrics(distance, different, paper_threshold(config)),
        loss=mean_loss(distance, different, config),
        folds=fold_accuracy(distance, different, scored.fold) if len(set(scored.fold)) > 1 else None,
    )


def printed(result: VerificationResult, checkpoint: str) -> list[Printed]:
    """A table of the metrics in percent, and remarks."""
    metrics = result.metrics
    interval = metrics.accuracy_interval
    rows = [
        (f"accuracy at the validation's threshold {metrics.threshold:.3f}", metrics.accuracy),
        (f"accuracy at the margin {result.at_margin.threshold:g}, as the paper", result.at_margin.accuracy),
        (f"accuracy at the best threshold {metrics.best_threshold:.3f} of these pairs", metrics.best_accuracy),
        ("area under the ROC curve", metrics.auc),
        ("equal error rate", metrics.equal_error_rate),
        *((f"true accepts at {rate:g} false accepts", value) for rate, value in metrics.true_accept.items()),
    ]
    table = blank_table(f"{result.name}: {checkpoint}", "", "%")
    for label, value in rows:
        table.add_row(label, f"{100 * value:.2f}")
    remarks = [
        f"  {metrics.num_matching} matching and {metrics.num_different} different pairs; 95 % interval of the accuracy "
        f"{100 * interval[0]:.2f} to {100 * interval[1]:.2f}; loss {result.loss:.4f}"
    ]
    if result.folds is not None:
        mean, error = 100 * result.folds.mean, 100 * result.folds.standard_error
        remarks.append(
            f"  {len(result.folds.folds)} folds, each at the threshold of the others: {mean:.2f} ± {error:.2f}"
        )
    return [table, *remarks]


def as_json(results: Sequence[VerificationResult], threshold: float) -> dict[str, Any]:
    """All results as JSON, by data set, in [0, 1]."""
    sets = {}
    for result in results:
        folds = result.folds
        sets[result.name] = {
            "data": result.manifest.uri,
            "fingerprint": result.manifest.fingerprint,
            "matching": result.metrics.num_matching,
            "different": result.metrics.num_different,
            "figures": result.metrics.flat(),
            "accuracy_at_margin": result.at_margin.accuracy,
            "margin": result.at_margin.threshold,
            "loss": result.loss,
            "folds": None if folds is None else {"mean": folds.mean, "se": folds.standard_error, "each": folds.folds},
        }
    return {"task": "verification", "threshold": threshold, "sets": sets}
