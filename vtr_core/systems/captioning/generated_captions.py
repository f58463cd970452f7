"""Captions as a captioner writes them, from the features of stored videos."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Shaped
from torch import Tensor, nn

from vtr_core.config.override import override
from vtr_core.config.run import TrainConfig
from vtr_core.data.batches import centre
from vtr_core.data.captions import VideoCaptions, information_table, video_captions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.evaluated_rows import MAX_VIDEOS, video_rows
from vtr_core.data.reading.stored_rows import picture_rows
from vtr_core.data.records.arrays import PaddedFrames
from vtr_core.data.records.schema import FRAMES, require_frames, require_videos
from vtr_core.data.shards.shard_file import usable
from vtr_core.embedding.embedded_rows import check_frames, evaluating
from vtr_core.errors import CheckpointError, DatasetError
from vtr_core.metrics.captioning import CaptionMetrics, CaptionTokenizer, caption_metrics, cider
from vtr_core.page_templates import page_environment
from vtr_core.systems.captioning.config import CaptionerConfig, DecodingConfig
from vtr_core.systems.captioning.decoding import generate
from vtr_core.systems.captioning.model import Captioner
from vtr_core.systems.loaded_model import CaptionedVideos, Descriptions, TrainedModel
from vtr_core.text.tokens.vocabulary import Vocabulary, words_of


def column(config: CaptionerConfig) -> tuple[str, int]:
    """The column of the table, and the number of values of a frame."""
    if config.backbone is not None:
        return FRAMES, config.backbone.image_size**2 * 3
    return config.feature, config.inputs.features.get(config.feature, 1)  # a preset without data has a page, too


def as_given(
    frames: Float[Tensor, "videos frames values"], config: CaptionerConfig
) -> Shaped[Tensor, "videos frames *values"]:
    """What `Captioner.video_tokens` takes; pixels are numbers from 0 to 255, row by row, red, green and blue."""
    if config.backbone is None:
        return frames
    size = config.backbone.image_size
    return frames.round().clamp(0, 255).byte().unflatten(2, (size, size, 3)).permute(0, 1, 4, 2, 3)


@dataclass(frozen=True)
class CaptionerRows:
    """Consecutive videos of a data set; clips of a data set of frames."""

    frames: Shaped[Tensor, "videos frames *values"]
    """Vectors (videos, frames, dim), or pixels (videos, frames, 3, height, width) uint8."""
    mask: Bool[Tensor, "videos frames"]
    names: tuple[str, ...]
    """Ids of videos or clips."""
    references: tuple[tuple[str, ...], ...]


def check_data(manifest: Manifest, config: CaptionerConfig) -> None:
    """DatasetError unless the data set has the captioner's feature, or frames that are large enough."""
    if config.backbone is None:
        check_frames(manifest, config)
        return
    schema, size = require_frames(manifest.schema, manifest.uri), config.backbone.image_size
    if min(schema.height, schema.width) < size:
        raise DatasetError(
            f"{manifest.uri} has frames of {schema.height} × {schema.width} pixels, the model reads {size} × {size}; "
            f"extract them with --frame-size {size}"
        )


def captioner_rows(config: TrainConfig, manifest: Manifest, places: Sequence[RowGroup]) -> Iterator[CaptionerRows]:
    """All videos in `places`, in file order; at most `evaluation.batch_rows` together."""
    model, frames = config.model, config.batch.max_frames
    assert isinstance(model, CaptionerConfig)
    most = min(MAX_VIDEOS, config.evaluation.batch_rows)
    if model.backbone is None:
        for videos in video_rows(manifest, places, frames, most, [model.feature], mean=False):
            references = _texts(videos.captions, videos.caption_video, len(videos.video_id))
            name = model.feature
            yield CaptionerRows(videos.frames[name], videos.mask[name], videos.video_id, references)
    else:
        for clips in picture_rows(manifest, places, frames, most):
            pixels = torch.from_numpy(clips.frames).permute(0, 1, 4, 2, 3)
            mask = torch.arange(pixels.shape[1]) < torch.from_numpy(clips.kept)[:, None]
            references = _texts(clips.captions, clips.caption_clip, len(clips.clip_id))
            yield CaptionerRows(centre(pixels, model.backbone.image_size), mask, clips.clip_id, references)


def _texts(captions: Sequence[str], owner: np.ndarray, count: int) -> tuple[tuple[str, ...], ...]:
    """The captions of each of `count` videos, given the video of each caption."""
    return tuple(tuple(captions[i] for i in (owner == place).nonzero()[0].tolist()) for place in range(count))


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
    captions, device = CaptionedVideos(), model.bias.device
    with evaluating(model):
        for rows in captioner_rows(config, manifest, places):
            frames, mask = rows.frames.to(device), rows.mask.to(device)
            words = generate(model, frames, mask, decoding or model.config.decoding)
            captions.hypotheses.update(zip(rows.names, _sentences(words, vocabulary), strict=True))
            captions.has_frames.update(zip(rows.names, rows.mask.any(dim=1).tolist(), strict=True))
            captions.references.update(zip(rows.names, rows.references, strict=True))
    return captions


def caption_frames(
    model: Captioner, config: TrainConfig, vocabulary: Vocabulary, videos: PaddedFrames
) -> list[str | None]:
    """A caption for each video, None where it has no frames; the model is left unchanged."""
    device, count, captions = model.bias.device, config.evaluation.batch_rows, list[str | None]()
    with evaluating(model):
        for first in range(0, len(videos.lengths), count):
            rows = slice(first, first + count)
            frames, mask = torch.from_numpy(videos.values[rows]), torch.from_numpy(videos.mask[rows])
            words = generate(model, as_given(frames, model.config).to(device), mask.to(device), model.config.decoding)
            texts = _sentences(words, vocabulary)
            captions += [text if length else None for text, length in zip(texts, videos.lengths[rows], strict=True)]
    return captions


def together(parts: Sequence[CaptionedVideos]) -> CaptionedVideos:
    """The concatenation of all parts."""
    whole = CaptionedVideos()
    for part in parts:
        whole.hypotheses.update(part.hypotheses)
        whole.references.update(part.references)
        whole.has_frames.update(part.has_frames)
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


def _sentences(captions: Sequence[Sequence[int]], vocabulary: Vocabulary) -> list[str]:
    return [" ".join(vocabulary.words[word - 1] for word in words) for words in captions]


def check_vocabulary(vocabulary: Vocabulary, references: Sequence[str], where: str) -> None:
    """DatasetError where the vocabulary lacks half of the references' words: the captions are of another corpus."""
    words = [word for text in references for word in words_of(text, vocabulary.tokenizer, vocabulary.version)]
    known = sum(word in vocabulary.ids for word in words)
    if known < KNOWN_SHARE * len(words):
        raise DatasetError(
            f"{where}: the model knows {known} of {len(words)} words of its captions, so its vocabulary is of another "
            "corpus; evaluate it on captions of its own language and kind, or train on these"
        )


def nearest_captions(training: Manifest, manifest: Manifest, feature: str) -> CaptionedVideos:
    """The most typical caption of the nearest training video, for every video of `manifest`.

    Videos are compared by the cosine of their mean frames, each dimension standardised over the training videos; ties:
    the first. A caption's typicality is its CIDEr against the video's other captions.
    """
    typical = typical_captions([video for video in video_captions(training) if video.captions])
    known, known_ids, _ = _means(training, feature)
    captioned = [place for place, name in enumerate(known_ids) if name in typical]
    if not captioned:
        raise DatasetError(f"{training.uri} has no video with captions, so the baseline has no caption to give")
    known, known_ids = known[captioned], [known_ids[place] for place in captioned]
    queries, ids, references = _means(manifest, feature)
    mean, spread = known.mean(axis=0), known.std(axis=0) + 1e-6
    nearest = (_unit((queries - mean) / spread) @ _unit((known - mean) / spread).T).argmax(axis=1)
    hypotheses = {name: typical[known_ids[place]] for name, place in zip(ids, nearest.tolist(), strict=True)}
    return CaptionedVideos(hypotheses, references, dict.fromkeys(ids, True))


def typical_captions(videos: list[VideoCaptions]) -> Mapping[str, str]:
    """By video id, the caption with the highest CIDEr against the video's other captions; ties: the first."""
    table = information_table(videos, "leave_one_out")
    typical = {}
    for video in videos:
        keys = np.array(video.keys, np.int64)
        values = table.of_captions(np.full(len(keys), video.video_key), keys)
        typical[video.video_id] = video.captions[int(values.argmax())]
    return typical


def _means(
    manifest: Manifest, feature: str
) -> tuple[Float32[np.ndarray, "videos dim"], list[str], dict[str, tuple[str, ...]]]:
    """The mean frame of every video, their ids, and their captions."""
    means, ids, references = [], list[str](), dict[str, tuple[str, ...]]()
    for videos in video_rows(manifest, row_groups(manifest), max_frames=1, features=[feature]):
        means.append(videos.mean[feature].numpy())
        ids.extend(videos.video_id)
        texts = _texts(videos.captions, videos.caption_video, len(videos.video_id))
        references.update(zip(videos.video_id, texts, strict=True))
    return np.concatenate(means), ids, references


def _unit(rows: Float32[np.ndarray, "rows dim"]) -> Float32[np.ndarray, "rows dim"]:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


TEMPLATE = "captions.html"
_TOKENIZER: CaptionTokenizer = "words"


@dataclass(frozen=True)
class CaptionExample:
    """A video's generated caption, its references, and the caption's CIDEr-D times 100 where there are references."""

    video_id: str
    caption: str
    references: tuple[str, ...]
    score: float | None
    has_frames: bool


def examples(videos: CaptionedVideos, count: int) -> list[CaptionExample]:
    """At most `count` videos: evenly from the best to the worst by CIDEr-D, ties and all without references in file
    order; those without references come last."""
    captioned = {name: texts for name, texts in videos.references.items() if texts}
    hypotheses = {name: videos.hypotheses[name] for name in captioned}
    scores = cider(hypotheses, captioned, tokenizer=_TOKENIZER).by_id if captioned else {}
    order = sorted(videos.hypotheses, key=lambda name: -scores.get(name, -1.0))
    places = np.unique(np.linspace(0, len(order) - 1, min(count, len(order))).round().astype(int))
    shown = []
    for name in (order[place] for place in places.tolist()):
        score = 100 * scores[name] if name in scores else None
        texts = videos.hypotheses[name], videos.references[name]
        shown.append(CaptionExample(name, *texts, score, videos.has_frames[name]))
    return shown


def render_captions(shown: Sequence[CaptionExample], **details: object) -> str:
    """The page as HTML. All text is escaped: ids and captions are arbitrary strings."""
    environment = page_environment("vtr_core.systems.captioning")
    return environment.get_template(TEMPLATE).render(examples=shown, tokenizer=_TOKENIZER, **details)


def describe_data(loaded: TrainedModel, uri: str, changes: Mapping[str, object], num_examples: int) -> Descriptions:
    """Captions of all videos of a data set with changed decoding settings, and a page with `num_examples` of them."""
    decoding = override(require_captioner(loaded.model, loaded.uri).config.decoding, changes)
    manifest = describable(loaded, uri)
    videos = describe(loaded, manifest, decoding, row_groups(manifest))
    shown = examples(videos, num_examples)
    page = render_captions(shown, checkpoint=loaded.uri, data=manifest.uri, decoding=decoding.model_dump())
    return Descriptions(videos, page, len(shown))


def describable(loaded: TrainedModel, uri: str) -> Manifest:
    """The manifest of a data set that the captioner reads: of whole videos with its feature, or of frames."""
    config = loaded.config.model
    assert isinstance(config, CaptionerConfig)
    manifest = usable(uri, require_videos if config.backbone is None else require_frames)
    check_data(manifest, config)
    return manifest


def describe(
    loaded: TrainedModel, manifest: Manifest, decoding: DecodingConfig, places: Sequence[RowGroup]
) -> CaptionedVideos:
    """A caption for every video in these row groups.

    Raises DatasetError where the references are of another corpus than the training captions.
    """
    model = require_captioner(loaded.model, loaded.uri)
    references = [text for video in video_captions(manifest) for text in video.captions]
    check_vocabulary(loaded.vocabulary, references, manifest.uri)
    return caption_videos(model, loaded.config, manifest, loaded.vocabulary, places, decoding)
