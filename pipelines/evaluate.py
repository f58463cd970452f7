"""`vtr evaluate CHECKPOINT --data URI…`: retrieval on one or more data sets, printed and logged to MLflow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from pipelines.arguments import parse, print_help, wants_help

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.metrics.ranking import RetrievalMetrics
    from vtr_core.retrieval.evaluation import Direction
    from vtr_core.similarity import SimilarityKind
    from vtr_core.tracking.run import TrackedRun
    from vtr_core.train.checkpoint import LoadedModel


@dataclass(frozen=True)
class EvaluateFlags:
    """What to evaluate and on what."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """A checkpoint folder, or a run folder, whose best checkpoint is taken."""
    data: tuple[str, ...]
    """One or more data sets."""
    similarity: Literal["dot", "cosine", "neg_euclidean"] | None = None
    """How embeddings are compared (default: as in training)."""
    experiment: str = "vtr"
    """MLflow experiment."""
    json: str | None = None
    """Write the figures to this file, too."""


@dataclass(frozen=True)
class Result:
    """The figures of one data set, and the best possible ones where the data set's truth is known."""

    name: str
    manifest: "Manifest"
    directions: "list[Direction]"
    best_possible: "Mapping[str, Mapping[int, float]]"


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr evaluate", EvaluateFlags)
        return
    evaluate(parse(EvaluateFlags, argv, "vtr evaluate"))


def evaluate(flags: EvaluateFlags) -> list[Result]:
    """Evaluate, print one table per data set, and log all figures as one run of the experiment."""
    from vtr_core import storage
    from vtr_core.data.checks import usable_clips
    from vtr_core.retrieval.embed import check_features
    from vtr_core.storage import locate
    from vtr_core.train.checkpoint import load_model

    manifests = [usable_clips(uri) for uri in flags.data]
    loaded = load_model(flags.checkpoint, _device())
    for manifest in manifests:
        check_features(manifest, loaded.config.model.inputs.features)
    similarity = flags.similarity or loaded.config.evaluation.similarity
    results = []
    for name, manifest in zip(_names(manifests), manifests, strict=True):
        results.append(_evaluate_one(loaded, name, manifest, similarity))
        print_result(results[-1], loaded.uri, similarity)
    _log(flags, loaded, results, similarity)
    if flags.json is not None:
        storage.write_json(locate(flags.json), _as_json(results, similarity))
    return results


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _names(manifests: "Sequence[Manifest]") -> list[str]:
    """A short name for each data set: its folder's, with the parent's where two would be the same."""
    parts = [manifest.uri.rstrip("/").split("/") for manifest in manifests]
    short = [part[-1] for part in parts]
    if len(set(short)) == len(short):
        return short
    return ["-".join(part[-2:]) for part in parts]


def _evaluate_one(loaded: "LoadedModel", name: str, manifest: "Manifest", similarity: "SimilarityKind") -> Result:
    from vtr_core.data.plan import row_groups
    from vtr_core.retrieval.best_possible import best_possible_recall
    from vtr_core.retrieval.embed import embed
    from vtr_core.retrieval.evaluation import evaluate_retrieval

    config = loaded.config
    rows = embed(
        loaded.model,
        config.model.inputs.features,
        manifest,
        loaded.vocabulary,
        row_groups(manifest),
        config.evaluation.batch_rows,
    )
    return Result(name, manifest, evaluate_retrieval(rows, similarity), best_possible_recall(manifest))


def print_result(result: Result, checkpoint: str, similarity: "SimilarityKind") -> None:
    """A table of the figures, next to chance and, where it is known, to the best possible."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{result.name}: {checkpoint}, {similarity} similarity", title_justify="left")
    for column in ("", "queries", "items", "R@1", "R@5", "R@10", "MedR", "MeanR", "mAP", "tied"):
        table.add_column(column, justify="right" if column else "left")
    for direction in result.directions:
        figures, chance = direction.metrics, direction.chance
        counts = (str(figures.num_queries), str(figures.num_items))
        table.add_row(direction.title, *counts, *_cells(figures), str(figures.num_tied))
        best = result.best_possible.get(direction.name)
        if best is not None:
            table.add_row("  best possible", "", "", *(f"{100 * best[k]:.1f}" for k in (1, 5, 10)), "", "", "", "")
        table.add_row("  chance", "", "", *_cells(chance), "")
    Console(width=None if Console().is_terminal else 120).print(table)


def _cells(metrics: "RetrievalMetrics") -> list[str]:
    recalls = [f"{100 * metrics.recall[k]:.1f}" for k in (1, 5, 10)]
    return [*recalls, f"{metrics.median_rank:.1f}", f"{metrics.mean_rank:.1f}", f"{metrics.mean_average_precision:.3f}"]


def _log(flags: EvaluateFlags, loaded: "LoadedModel", results: Sequence[Result], similarity: "SimilarityKind") -> None:
    """One run with the figures as `test/<set>/…`, below the run that made the checkpoint where that is known."""
    from vtr_core.tracking.provenance import provenance
    from vtr_core.tracking.run import Failure, default_tracking_uri, open_run

    parent = loaded.provenance.get("mlflow.run_id")
    tags = {**provenance(), "stage": "evaluate", "checkpoint": loaded.uri, "preset": loaded.config.preset}
    if parent:
        tags["mlflow.parentRunId"] = parent
    tracked = open_run(default_tracking_uri(), flags.experiment, f"evaluate-{loaded.config.preset}", tags)
    if tracked is None:
        return
    try:
        _log_results(tracked, loaded, results, similarity)
        tracked.finish("FINISHED")
        print(f"MLflow run  {tracked.run_id} in {tracked.tracking_uri}")
    except Failure as error:
        print(f"MLflow did not take the figures: {error}")


def _log_results(
    tracked: "TrackedRun", loaded: "LoadedModel", results: Sequence[Result], similarity: "SimilarityKind"
) -> None:
    import time

    from vtr_core.retrieval.evaluation import metric_values

    step, now = loaded.progress.step, int(time.time() * 1000)
    tracked.log_params({"checkpoint": loaded.uri, "similarity": similarity, "data": [r.manifest.uri for r in results]})
    for result in results:
        tracked.log_input(result.manifest, "testing")
        tracked.log_metrics(metric_values(result.directions, f"test/{result.name}"), step, now)
    tracked.log_json("evaluation.json", _as_json(results, similarity))


def _as_json(results: Sequence[Result], similarity: "SimilarityKind") -> dict[str, object]:
    from dataclasses import asdict

    return {
        "similarity": similarity,
        "sets": {
            result.name: {
                "data": result.manifest.uri,
                "fingerprint": result.manifest.fingerprint,
                "best_possible": result.best_possible,
                "directions": {
                    d.name: {"metrics": asdict(d.metrics), "chance": asdict(d.chance)} for d in result.directions
                },
            }
            for result in results
        },
    }


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("evaluate")
