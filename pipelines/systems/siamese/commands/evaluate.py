"""`vtr evaluate CHECKPOINT --task verification --data URI…`: face verification on pairs of images."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from rich.table import Table

from pipelines.arguments import check_counts
from pipelines.evaluation_inputs import asked_knock_outs, device, short_names
from pipelines.report.links import print_link
from pipelines.report.logged_run import EvaluatedSet, Report, log_evaluation
from pipelines.report.printed_page import Printed, page, show
from vtr_core import storage
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.data.reading.images import read_images, require_other_subjects
from vtr_core.data.records.required_kind import require_images
from vtr_core.data.shards.checks import usable
from vtr_core.errors import VtrError
from vtr_core.metrics.verification import equal_error_threshold, fold_accuracy, verification_metrics
from vtr_core.storage import check_file_writable, locate
from vtr_core.systems.knock_out import KnockOuts, Remark
from pipelines.systems.siamese.commands.command import PROG, VerificationFlags
from pipelines.systems.siamese.commands.figures import verification_figure
from pipelines.systems.siamese.commands.result import VerificationResult, Without
from vtr_core.systems.siamese.decision import decision_threshold, siamese
from vtr_core.systems.siamese.hardest_pairs import hardest_pairs, render_hardest
from vtr_core.systems.siamese.model import Siamese
from vtr_core.systems.siamese.verification import encode_faces, mean_loss, paper_threshold, score_pairs, subject_errors
from vtr_core.train.checkpoint.load import LoadedModel, load_model


def evaluate(flags: VerificationFlags) -> list[VerificationResult]:
    """Verifies, prints a table for each data set, and logs metrics, curves and the hardest pairs as one run."""
    check_counts(PROG, hardest=flags.hardest)
    if flags.page is not None:
        check_file_writable(locate(flags.page))
    manifests = [usable(uri, require_images) for uri in flags.data]
    loaded = load_model(flags.checkpoint, device())
    model = siamese(loaded)
    threshold = decision_threshold(loaded, flags.threshold)
    if not flags.allow_seen:
        _require_unseen(loaded, manifests)
    missing, results = asked_knock_outs(loaded, flags.knock_out), []
    for name, manifest in zip(short_names(manifests), manifests, strict=True):
        results.append(_evaluate_one(model, loaded, name, manifest, threshold, missing))
        show(printed(results[-1], loaded.uri))
    page = _hardest_page(results, flags.hardest, loaded.uri)
    _log(flags, loaded, results, threshold, page)
    if flags.page is not None:
        storage.write_bytes(locate(flags.page), page.encode())
        print_link(locate(flags.page))
    if flags.out is not None:
        storage.write_json(locate(flags.out), as_json(results, threshold))
        print_link(locate(flags.out))
    return results


def _require_unseen(loaded: LoadedModel, manifests: Sequence[Manifest]) -> None:
    """DatasetError where a data set shares subjects with the training data, if that can still be read."""
    try:
        trained = Manifest.load(str(loaded.provenance.get("data", "")))
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
    model: Siamese, loaded: LoadedModel, name: str, manifest: Manifest, threshold: float, missing: KnockOuts
) -> VerificationResult:

    config = loaded.config
    scored = score_pairs(encode_faces(model, config, manifest), manifest, config)
    distance, different = scored.distance, scored.different
    return VerificationResult(
        name=name,
        manifest=manifest,
        scored=scored,
        metrics=verification_metrics(distance, different, threshold),
        at_margin=verification_metrics(distance, different, paper_threshold(config)),
        loss=mean_loss(scored.distance, scored.different, config),
        folds=fold_accuracy(distance, different, scored.fold) if len(set(scored.fold)) > 1 else None,
        subjects=subject_errors(scored, threshold),
        without={name: _without(model, loaded, manifest, knocked_out) for name, knocked_out in missing.items()},
    )


def _without(
    model: Siamese, loaded: LoadedModel, manifest: Manifest, knocked_out: Callable[[], AbstractContextManager[Remark]]
) -> Without:
    """Metrics without a mechanism, at the equal-error threshold of these pairs, because distances are on
    another scale.
    """
    with knocked_out() as remark:
        scored = score_pairs(encode_faces(model, loaded.config, manifest), manifest, loaded.config)
    threshold = equal_error_threshold(scored.distance, scored.different)
    return Without(verification_metrics(scored.distance, scored.different, threshold), remark())


def printed(result: VerificationResult, checkpoint: str) -> list[Printed]:
    """A table of the metrics in percent, and the subjects with most errors."""
    found = result.metrics
    interval = found.accuracy_interval
    rows = [
        (f"accuracy at the validation's threshold {found.threshold:.3f}", found.accuracy),
        (f"accuracy at the margin {result.at_margin.threshold:g}, as the paper", result.at_margin.accuracy),
        (f"accuracy at the best threshold {found.best_threshold:.3f} of these pairs", found.best_accuracy),
        ("area under the ROC curve", found.auc),
        ("equal error rate", found.equal_error_rate),
        *((f"true accepts at {rate:g} false accepts", value) for rate, value in found.true_accept.items()),
    ]
    table = Table(title=f"{result.name}: {checkpoint}", title_justify="left")
    table.add_column("")
    table.add_column("%", justify="right")
    for label, value in rows:
        table.add_row(label, f"{100 * value:.2f}")
    remarks = [
        f"  {found.num_matching} matching and {found.num_different} different pairs; 95 % interval of the accuracy "
        f"{100 * interval.low:.2f} to {100 * interval.high:.2f}; loss {result.loss:.4f}"
    ]
    if result.folds is not None:
        mean, error = 100 * result.folds.mean, 100 * result.folds.standard_error
        remarks.append(
            f"  {len(result.folds.folds)} folds, each at the threshold of the others: {mean:.2f} ± {error:.2f}"
        )
    for name, without in result.without.items():
        auc, error = 100 * without.metrics.auc, 100 * without.metrics.equal_error_rate
        remarks.append(f"  without {name}: area {auc:.2f}, equal error rate {error:.2f} ({without.remark})")
    worst = [one for one in result.subjects if one.rate > 0][:_SHOWN]
    if worst:
        named = ", ".join(f"{one.subject} {100 * one.rate:.1f} %" for one in worst)
        remarks.append(f"  subjects whose pairs are most often decided wrongly: {named}")
    return [table, *remarks]


_SHOWN = 5


def _hardest_page(results: Sequence[VerificationResult], count: int, checkpoint: str) -> str:

    sets = []
    for result in results:
        rows = read_images(result.manifest, row_groups(result.manifest))
        sets.append((result.name, hardest_pairs(result.scored, rows, result.metrics.threshold, count)))
    return render_hardest(sets, checkpoint, results[0].metrics.threshold)


def _log(
    flags: VerificationFlags,
    loaded: LoadedModel,
    results: Sequence[VerificationResult],
    threshold: float,
    hardest: str,
) -> None:
    """Logs one run with the metrics as `test/<set>/…`, the ROC curve and densities, and the hardest pairs."""
    sets = [EvaluatedSet(one.name, one.manifest, one.metric_values(f"test/{one.name}")) for one in results]
    report = Report(
        values=as_json(results, threshold),
        page=page([part for result in results for part in printed(result, loaded.uri)]),
        figure=verification_figure(results),
        pages={"hardest_pairs.html": hardest},
    )
    log_evaluation(flags.experiment, loaded, sets, {"task": "verification", "threshold": threshold}, report)


def as_json(results: Sequence[VerificationResult], threshold: float) -> dict[str, Any]:
    """All results as JSON, by data set, in [0, 1], with the errors of each subject."""
    return {
        "task": "verification",
        "threshold": threshold,
        "sets": {result.name: _set_json(result) for result in results},
    }


def _set_json(result: VerificationResult) -> Mapping[str, Any]:
    folds = result.folds
    return {
        "data": result.manifest.uri,
        "fingerprint": result.manifest.fingerprint,
        "matching": result.metrics.num_matching,
        "different": result.metrics.num_different,
        "figures": result.metrics.flat(),
        "accuracy_at_margin": result.at_margin.accuracy,
        "margin": result.at_margin.threshold,
        "loss": result.loss,
        "folds": None if folds is None else {"mean": folds.mean, "se": folds.standard_error, "each": folds.folds},
        "subjects": {
            one.subject: {
                "rejected": one.rejected,
                "matching": one.matching,
                "accepted": one.accepted,
                "different": one.different,
            }
            for one in result.subjects
        },
    }
