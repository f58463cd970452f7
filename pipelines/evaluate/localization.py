"""`vtr evaluate CHECKPOINT --task localization --data URI…`: temporal localization of ordered steps in videos."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from rich.table import Table
from rich.text import Text

from pipelines.arguments import check_counts
from pipelines.evaluate.evaluation_flags import Background, LocalizationFlags, RowsRead, device, short_names
from pipelines.report.figures import Printed, page, show
from pipelines.report.logged_run import EvaluatedSet, log_evaluation
from pipelines.systems.registry import SYSTEMS
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.records.schema import require_steps
from vtr_core.data.shards.shard_file import usable
from vtr_core.embedding.rankings import Protocol
from vtr_core.metrics.step_figures import (
    ScoredVideo,
    StepFigures,
    by_chance,
    centred,
    centred_by_step,
    localise,
)
from vtr_core.retrieval.evaluate.localization import ScoredSteps, SecondModel, score_steps
from vtr_core.similarity import SimilarityKind
from vtr_core.systems.spaces import clip_space_of
from vtr_core.train.checkpoint.trained_model import LoadedModel, read_model

PROG = "vtr evaluate --task localization"
DECODINGS = {"one_second": True, "spans": False}
"""The argument `exactly_one` of `ordered_steps` by the decoding's name in metrics."""


@dataclass(frozen=True)
class LocalizationResult:
    """The metrics of one data set by decoding, "one_second" and "spans": of the model and of chance."""

    name: str
    manifest: Manifest
    steps: ScoredSteps
    decodings: Mapping[str, Mapping[str, StepFigures]]

    def metric_values(self, prefix: str, source: str = "model") -> dict[str, float]:
        """The metrics in percent: `<prefix>/recall_task`, …, and `<prefix>/<decoding>/recall_task`, ….

        Without a decoding in the name, recall is that of one second per step, as CrossTask defines it, and overlaps are
        those of spans: for a single second |D| = 1, so that IoD would equal the recall and IoU measure step lengths.
        """
        values = {decoding: figures[source].flat() for decoding, figures in self.decodings.items()}
        every = {f"{decoding}/{name}": v for decoding, flat in values.items() for name, v in flat.items()}
        recall = {name: v for name, v in values["one_second"].items() if name.startswith("recall")}
        overlap = {name: v for name, v in values["spans"].items() if not name.startswith("recall")}
        return {f"{prefix}/{name}": 100.0 * v for name, v in {**recall, **overlap, **every}.items()}


def evaluate(flags: LocalizationFlags) -> list[LocalizationResult]:
    """Localise, print a table for each data set, and log all metrics as one run of the experiment."""
    check_counts(PROG, window=flags.window, draws=flags.draws)
    manifests = [usable(uri, require_steps) for uri in flags.data]
    loaded = read_model(flags.checkpoint, SYSTEMS, device())
    space = clip_space_of(loaded, "localisation")
    for manifest in manifests:
        space.check(loaded.config, manifest)
    similarity = flags.similarity or loaded.config.evaluation.similarity
    results = []
    for name, manifest in zip(short_names(manifests), manifests, strict=True):
        results.append(_evaluate_one(loaded, name, manifest, similarity, flags))
        show(printed(results[-1], f"{loaded.uri}, {similarity} similarity"))
    _log(flags, loaded, results, similarity)
    return results


def _evaluate_one(
    loaded: LoadedModel, name: str, manifest: Manifest, similarity: SimilarityKind, flags: LocalizationFlags
) -> LocalizationResult:
    config, background = loaded.config, _background(flags, similarity)
    using = SecondModel(
        model=loaded.model,
        features=config.model.inputs.features,
        vocabulary=loaded.vocabulary,
        max_words=manifest.schema.max_words,
        similarity=similarity,
        max_rows=config.evaluation.batch_rows,
        window=flags.window,
        audio=flags.audio,
        beyond_zero_text=background == "zero_text",
    )
    with RowsRead(manifest) as read:
        steps = score_steps(using, manifest, read.watch(row_groups(manifest)))
    videos = [_beside(background, video) for video in steps.videos]
    decodings = {
        decoding: {
            "model": localise(videos, exactly_one),
            "chance": by_chance(videos, exactly_one, flags.draws, flags.seed),
        }
        for decoding, exactly_one in DECODINGS.items()
    }
    return LocalizationResult(name, manifest, steps, decodings)


def _background(flags: LocalizationFlags, similarity: SimilarityKind) -> Background:
    """The background's score that was asked for, or that fits the similarity."""
    if flags.background is not None:
        return flags.background
    match similarity:
        case "neg_euclidean":
            return "zero_text"
        case "dot" | "cosine" | "generalized_jaccard":
            return "zero"
        case _:
            assert_never(similarity)


def _beside(background: Background, video: ScoredVideo) -> ScoredVideo:
    """The video with the background's score subtracted from all others, so that the background's is 0."""
    match background:
        case "zero":
            return video
        case "mean":
            return centred(video)
        case "zero_text":
            return centred_by_step(video)


def printed(result: LocalizationResult, title: str) -> list[Printed]:
    """A table of the metrics in percent, beside chance, and remarks on unscored steps and videos."""
    table = Table(title=f"{result.name}: {title}", title_justify="left")
    for column in _COLUMNS:
        table.add_column(column, justify="right" if column else "left")
    for decoding, figures in result.decodings.items():
        table.add_section()
        table.add_row(Text(_TITLES[decoding], style="italic"))
        for name, row in figures.items():
            cells = (f"{100 * value:.1f}" for value in row.flat().values())
            table.add_row(f"  {name.replace('_', ' ')}", *cells)
    return [table, *(f"  {line}" for line in _remarks(result.steps))]


_COLUMNS = ("", "recall", "IoD", "IoU")
_TITLES = {"one_second": "one second per step", "spans": "one or more seconds per step"}
_SHOWN = 5


def _remarks(steps: ScoredSteps) -> list[str]:
    total = len(steps.videos)
    counts = (
        (steps.num_without_frames, "have no frames; their steps count as missed"),
        (steps.num_too_short, "have fewer seconds than steps; their steps count as missed"),
        (steps.num_without_truth, "have no annotated segment; they are in no figure"),
    )
    lines = [f"{count} of {total} videos {remark}" for count, remark in counts if count]
    if steps.unknown_steps:
        shown = ", ".join(repr(text) for text in steps.unknown_steps[:_SHOWN])
        more = len(steps.unknown_steps) - _SHOWN
        rest = f" and {more} more" if more > 0 else ""
        lines.append(f"{len(steps.unknown_steps)} steps have no known word and count as missed: {shown}{rest}")
    return lines


def _settings(flags: LocalizationFlags, loaded: LoadedModel, similarity: SimilarityKind) -> dict[str, object]:
    """The settings that the metrics depend on beside checkpoint and data."""
    similarities = {"similarity": similarity, **Protocol.of(loaded.config, similarity).flat()}
    chosen = {"window": flags.window, "audio": flags.audio, "background": _background(flags, similarity)}
    return {**similarities, **chosen, "draws": flags.draws, "seed": flags.seed}


def _log(
    flags: LocalizationFlags,
    loaded: LoadedModel,
    results: Sequence[LocalizationResult],
    similarity: SimilarityKind,
) -> None:
    """Log one run with the metrics as `test/<set>/<decoding>/…`."""
    settings = _settings(flags, loaded, similarity)
    sets = [
        EvaluatedSet(result.name, result.manifest, result.metric_values(f"test/{result.name}")) for result in results
    ]
    title = f"{loaded.uri}, {similarity} similarity"
    tables = page([part for result in results for part in printed(result, title)])
    values = as_json(results, settings)
    log_evaluation(flags.experiment, loaded, sets, {"task": "localization", **settings}, values, tables, flags.out)


def as_json(results: Sequence[LocalizationResult], settings: Mapping[str, object]) -> dict[str, object]:
    """All results as JSON, by data set, in [0, 1]."""
    return {
        "task": "localization",
        **settings,
        "sets": {
            result.name: {
                "data": result.manifest.uri,
                "fingerprint": result.manifest.fingerprint,
                "videos": len(result.steps.videos),
                "without_frames": result.steps.num_without_frames,
                "too_short": result.steps.num_too_short,
                "without_truth": result.steps.num_without_truth,
                "unknown_steps": list(result.steps.unknown_steps),
                "decodings": {
                    decoding: {name: row.flat() for name, row in figures.items()}
                    for decoding, figures in result.decodings.items()
                },
            }
            for result in results
        },
    }
