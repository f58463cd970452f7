"""`vtr evaluate --task captioning`: BLEU, METEOR, ROUGE-L and CIDEr-D of captions, printed and logged."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.caption import DECODING
from pipelines.evaluate.evaluation_flags import RowsRead, device, short_names
from pipelines.report.figures import Printed, blank_table, page, show
from pipelines.report.logged_run import EvaluatedSet, log_evaluation
from pipelines.systems.captioning.evaluate_captions import CaptioningFlags
from pipelines.systems.registry import SYSTEMS
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.metrics.captioning import CaptionMetrics
from vtr_core.systems.captioning.config import DecodingConfig
from vtr_core.systems.captioning.generated_captions import (
    caption_figures,
    caption_values,
    describable,
    describe,
    require_captioner,
)
from vtr_core.systems.loaded_model import CaptionedVideos
from vtr_core.train.checkpoint.trained_model import read_model

_COLUMNS = ("B@1", "B@2", "B@3", "B@4", "METEOR", "ROUGE-L", "CIDEr")


@dataclass(frozen=True)
class CaptioningResult:
    """Metrics and generated captions of one data set."""

    name: str
    manifest: Manifest
    figures: CaptionMetrics
    videos: CaptionedVideos

    def metrics(self, prefix: str | None = None) -> dict[str, float]:
        """The metrics by name, as `test/<set>/cider`."""
        return caption_values(self.figures, prefix or f"test/{self.name}")


def evaluate(flags: CaptioningFlags) -> list[CaptioningResult]:
    """Evaluates, prints a table for each data set, and logs all metrics as one run of the experiment."""
    loaded = read_model(flags.checkpoint, SYSTEMS, device())
    changes = {name: value for name in DECODING if (value := getattr(flags, name)) is not None}
    decoding = override(require_captioner(loaded.model, loaded.uri).config.decoding, changes)
    manifests = [describable(loaded, uri) for uri in flags.data]
    results = []
    for name, manifest in zip(short_names(manifests), manifests, strict=True):
        with RowsRead(manifest) as read:
            videos = describe(loaded, manifest, decoding, read.watch(row_groups(manifest)))
        figures = caption_figures(videos, flags.tokenizer, flags.meteor)
        results.append(CaptioningResult(name, manifest, figures, videos))
        show(printed(results[-1], loaded.uri))
    values = _as_json(results, decoding)
    sets = [EvaluatedSet(result.name, result.manifest, result.metrics()) for result in results]
    settings = {"tokenizer": flags.tokenizer, **decoding.model_dump()}
    tables = page([part for result in results for part in printed(result, loaded.uri)])
    log_evaluation(flags.experiment, loaded, sets, settings, values, tables, flags.out)
    return results


def printed(result: CaptioningResult, checkpoint: str) -> list[Printed]:
    """The table and remarks of a data set."""
    figures = result.figures
    unseen = sum(not has_frames for has_frames in result.videos.has_frames.values())
    remarks = [f"  captions cut into words by the tokenizer {figures.tokenizer}"]
    if figures.meteor_absent is not None:
        remarks.append(f"  no METEOR: {figures.meteor_absent}")
    if unseen:
        remarks.append(
            f"  {unseen} of {len(result.videos.has_frames)} videos have no frames; they are described all the same"
        )
    values = [*figures.bleu.values(), figures.meteor, figures.rouge_l, figures.cider]
    table = blank_table(f"{result.name}: {checkpoint}", "", "videos", *_COLUMNS)
    cells = ["–" if value is None else f"{100 * value:.2f}" for value in values]
    table.add_row("captions", str(figures.num_items), *cells)
    return [table, *remarks]


def _as_json(results: Sequence[CaptioningResult], decoding: DecodingConfig) -> dict[str, object]:
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
