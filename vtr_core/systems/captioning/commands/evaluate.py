"""`vtr evaluate --task captioning`: BLEU, METEOR, ROUGE-L and CIDEr-D of generated captions, printed and logged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from pipelines.arguments import parse, print_help, wants_help

if TYPE_CHECKING:
    from rich.table import Table

    from pipelines.report.bar_figure import Panel
    from pipelines.report.logged_run import Report
    from pipelines.report.printed_page import Printed
    from vtr_core.data.manifest import Manifest
    from vtr_core.metrics.captioning import CaptionMetrics
    from vtr_core.systems.captioning.config import DecodingConfig
    from vtr_core.systems.descriptions import CaptionedVideos
    from vtr_core.train.checkpoint.load import LoadedModel

_COLUMNS = ("B@1", "B@2", "B@3", "B@4", "METEOR", "ROUGE-L", "CIDEr")


@dataclass(frozen=True)
class CaptioningFlags:
    """What to evaluate and on what."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS."""
    data: tuple[str, ...]
    """One or more data sets of whole videos; videos without captions are skipped."""
    tokenizer: Literal["words", "alphanumeric", "spaces", "treebank"] = "words"
    """Tokenizer of the metrics; treebank is the published one (needs Java)."""
    meteor: bool = True
    """Compute METEOR, where pycocoevalcap and Java are installed."""
    beams: int | None = None
    """Beam size; 1 is greedy decoding (default: as in training)."""
    length_penalty: float | None = None
    """Length penalty α: hypotheses are compared by log p / length^α (default: as in training)."""
    block_ngrams: int | None = None
    """Forbid repeated n-grams of this size within a caption (default: as in training)."""
    average_checkpoints: int = 1
    """Average the weights of this many newest checkpoints of the run folder."""
    experiment: str = "vtr"
    """MLflow experiment."""
    json: str | None = None
    """Also write metrics and captions to this JSON file."""


@dataclass(frozen=True)
class CaptioningResult:
    """The figures of one data set, and what was generated."""

    name: str
    manifest: "Manifest"
    figures: "CaptionMetrics"
    videos: "CaptionedVideos"

    def metrics(self, prefix: str | None = None) -> dict[str, float]:
        """The figures by metric name, as `test/<set>/cider`."""
        from vtr_core.systems.captioning.evaluation import caption_values

        return caption_values(self.figures, prefix or f"test/{self.name}")


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    prog = "vtr evaluate --task captioning"
    if not argv or wants_help(argv):
        print_help(prog, CaptioningFlags)
        return
    evaluate(parse(CaptioningFlags, argv, prog))


def evaluate(flags: CaptioningFlags) -> list[CaptioningResult]:
    """Evaluate, print a table for each data set, and log all figures as one run of the experiment."""
    from pipelines.evaluation_inputs import short_names
    from pipelines.report.links import print_link
    from pipelines.report.logged_run import EvaluatedSet, log_evaluation
    from pipelines.report.printed_page import show
    from vtr_core import storage
    from vtr_core.storage import locate
    from vtr_core.systems.captioning.described import describable

    loaded, decoding = _captioner(flags)
    manifests = [describable(loaded, uri) for uri in flags.data]
    results = []
    for name, manifest in zip(short_names(manifests), manifests, strict=True):
        results.append(_evaluate_one(loaded, decoding, name, manifest, flags))
        show(printed(results[-1], loaded.uri))
    values = _as_json(results, decoding)
    sets = [EvaluatedSet(result.name, result.manifest, result.metrics()) for result in results]
    settings = {"tokenizer": flags.tokenizer, "average_checkpoints": flags.average_checkpoints, **decoding.model_dump()}
    log_evaluation(flags.experiment, loaded, sets, settings, _report(results, values, loaded.uri))
    if flags.json is not None:
        storage.write_json(locate(flags.json), values)
        print_link(locate(flags.json))
    return results


def _captioner(flags: CaptioningFlags) -> "tuple[LoadedModel, DecodingConfig]":
    """The captioner of a checkpoint and how it speaks; CheckpointError for another model."""
    from pipelines.caption.decoding import decoding_changes
    from pipelines.evaluation_inputs import device
    from vtr_core.config.override import override
    from vtr_core.systems.captioning.evaluation import require_captioner
    from vtr_core.train.checkpoint.load import load_model

    loaded = load_model(flags.checkpoint, device(), flags.average_checkpoints)
    decoding = require_captioner(loaded.model, loaded.uri).config.decoding
    return loaded, override(decoding, decoding_changes(flags.beams, flags.length_penalty, flags.block_ngrams))


def _evaluate_one(
    loaded: "LoadedModel", decoding: "DecodingConfig", name: str, manifest: "Manifest", flags: CaptioningFlags
) -> CaptioningResult:
    from vtr_core.systems.captioning.described import describe
    from vtr_core.systems.captioning.evaluation import caption_figures

    videos = describe(loaded, manifest, decoding)
    return CaptioningResult(name, manifest, caption_figures(videos, flags.tokenizer, flags.meteor), videos)


def printed(result: CaptioningResult, checkpoint: str) -> "list[Printed]":
    """The table and remarks of a data set."""
    figures = result.figures
    unseen = sum(not seen for seen in result.videos.seen.values())
    remarks = [f"  captions cut into words by the tokenizer {figures.tokenizer}"]
    if figures.meteor_absent is not None:
        remarks.append(f"  no METEOR: {figures.meteor_absent}")
    if unseen:
        remarks.append(
            f"  {unseen} of {len(result.videos.seen)} videos have no frames; they are described all the same"
        )
    return [_table(result, checkpoint), *remarks]


def _table(result: CaptioningResult, checkpoint: str) -> "Table":
    from pipelines.report.blank_table import blank_table

    figures = result.figures
    values = [*figures.bleu.values(), figures.meteor, figures.rouge_l, figures.cider]
    table = blank_table(f"{result.name}: {checkpoint}", "", "videos", *_COLUMNS)
    cells = ["–" if value is None else f"{100 * value:.2f}" for value in values]
    table.add_row("captions", str(figures.num_items), *cells)
    return table


def _report(results: Sequence[CaptioningResult], values: dict[str, object], checkpoint: str) -> "Report":
    from pipelines.report.bar_figure import bar_figure
    from pipelines.report.logged_run import Report
    from pipelines.report.printed_page import page

    parts = [part for result in results for part in printed(result, checkpoint)]
    return Report(values, page(parts), bar_figure([_panel(result) for result in results]))


def _panel(result: CaptioningResult) -> "Panel":
    from pipelines.report.bar_figure import Bar, Panel

    return Panel(result.name, [Bar(name, value, {}) for name, value in result.metrics(result.name).items()])


def _as_json(results: Sequence[CaptioningResult], decoding: "DecodingConfig") -> dict[str, object]:
    return {
        "decoding": decoding.model_dump(),
        "sets": {
            result.name: {
                "data": result.manifest.uri,
                "fingerprint": result.manifest.fingerprint,
                "tokenizer": result.figures.tokenizer,
                "meteor_absent": result.figures.meteor_absent,
                "figures": result.metrics(result.name),
                "cider_by_video": result.figures.by_id,
                "captions": result.videos.hypotheses,
            }
            for result in results
        },
    }
