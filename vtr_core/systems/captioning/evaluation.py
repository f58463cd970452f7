"""Generated captions of a data set's videos, and their metrics."""

from collections.abc import Sequence

import torch
from torch import nn

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.data.records.frames import PaddedFrames
from vtr_core.errors import CheckpointError, DatasetError
from vtr_core.metrics.captioning import CaptionMetrics, CaptionTokenizer, caption_metrics
from vtr_core.retrieval.embed.evaluating import evaluating
from vtr_core.run.config import TrainConfig
from vtr_core.systems.captioning.config import DecodingConfig
from vtr_core.systems.captioning.decoding.captions import generate
from vtr_core.systems.captioning.inputs.rows import captioner_rows, check_data
from vtr_core.systems.captioning.inputs.table import as_given
from vtr_core.systems.captioning.model import Captioner
from vtr_core.systems.descriptions import CaptionedVideos
from vtr_core.text.tokens.vocabulary import Vocabulary, words_of

KNOWN_SHARE = 0.5
"""Minimum share of the references' words that are in the captioner's vocabulary."""


def require_captioner(model: nn.Module, where: str) -> Captioner:
    """The model; CheckpointError if it is not a captioner."""
    if not isinstance(model, Captioner):
        raise CheckpointError(f"{where} is no captioner; this needs one, such as vtr train caption-msrvtt makes")
    return model


def caption_videos(
    model: Captioner,
    config: TrainConfig,
    manifest: Manifest,
    vocabulary: Vocabulary,
    places: Sequence[RowGroup],
    decoding: DecodingConfig | None = None,
) -> CaptionedVideos:
    """A caption for every video in `places`, also for videos without frames; for every clip of a data set of frames.

    decoding: default: the model's settings. The model is left unchanged. Raises DatasetError for a data set without
    what the model reads.
    """
    check_data(manifest, model.config)
    found, device = CaptionedVideos(), model.bias.device
    with evaluating(model):
        for rows in captioner_rows(config, manifest, places):
            frames, mask = rows.frames.to(device), rows.mask.to(device)
            said = generate(model, frames, mask, decoding or model.config.decoding)
            found.hypotheses.update(zip(rows.names, _sentences(said, vocabulary), strict=True))
            found.seen.update(zip(rows.names, rows.mask.any(dim=1).tolist(), strict=True))
            found.references.update(zip(rows.names, rows.references, strict=True))
    return found


def caption_frames(
    model: Captioner, config: TrainConfig, vocabulary: Vocabulary, videos: PaddedFrames
) -> list[str | None]:
    """A caption for each video, None where it has no frames; the model is left unchanged."""
    device, count, found = model.bias.device, config.evaluation.batch_rows, list[str | None]()
    with evaluating(model):
        for first in range(0, len(videos.kept), count):
            rows = slice(first, first + count)
            frames, mask = torch.from_numpy(videos.values[rows]), torch.from_numpy(videos.mask[rows])
            said = generate(model, as_given(frames, model.config).to(device), mask.to(device), model.config.decoding)
            texts = _sentences(said, vocabulary)
            found += [text if kept else None for text, kept in zip(texts, videos.kept[rows], strict=True)]
    return found


def together(parts: Sequence[CaptionedVideos]) -> CaptionedVideos:
    """The concatenation of all parts."""
    whole = CaptionedVideos()
    for part in parts:
        whole.hypotheses.update(part.hypotheses)
        whole.references.update(part.references)
        whole.seen.update(part.seen)
    return whole


def caption_figures(videos: CaptionedVideos, tokenizer: CaptionTokenizer, with_meteor: bool = True) -> CaptionMetrics:
    """The metrics over videos that have references; DatasetError where none has."""
    captioned = {name: texts for name, texts in videos.references.items() if texts}
    if not captioned:
        raise DatasetError("no video has a reference caption, so nothing can be measured; vtr caption needs none")
    hypotheses = {name: videos.hypotheses[name] for name in captioned}
    return caption_metrics(hypotheses, captioned, tokenizer=tokenizer, with_meteor=with_meteor)


def caption_values(figures: CaptionMetrics, prefix: str) -> dict[str, float]:
    """The metrics by name, times 100 as they are published: `<prefix>/cider`, `<prefix>/bleu4`, …"""
    values = {f"bleu{n}": value for n, value in figures.bleu.items()}
    values |= {"rouge_l": figures.rouge_l, "cider": figures.cider}
    if figures.meteor is not None:
        values["meteor"] = figures.meteor
    return {f"{prefix}/{name}": 100 * value for name, value in values.items()}


def _sentences(said: Sequence[Sequence[int]], vocabulary: Vocabulary) -> list[str]:
    return [" ".join(vocabulary.words[word - 1] for word in words) for words in said]


def check_vocabulary(vocabulary: Vocabulary, references: Sequence[str], where: str) -> None:
    """DatasetError where the vocabulary lacks half of the references' words: the captions are of another corpus."""
    words = [word for text in references for word in words_of(text, vocabulary.tokenizer)]
    known = sum(word in vocabulary.ids for word in words)
    if known < KNOWN_SHARE * len(words):
        raise DatasetError(
            f"{where}: the model knows {known} of {len(words)} words of its captions, so its vocabulary is of another "
            "corpus; evaluate it on captions of its own language and kind, or train on these"
        )
