"""Scores of every step of a task at every second of a video, by a trained retrieval model (zero-shot)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float16
from torch import nn

from vtr_core.data.batches import ClipBatch, clip_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.data.reading.stored_rows import StoredSteps, read_steps
from vtr_core.data.records.schema import FEATURE_DTYPE, TOKEN_DTYPE
from vtr_core.embedding.embedded_rows import evaluating
from vtr_core.embedding.rankings import Entries, block_scores
from vtr_core.errors import DatasetError
from vtr_core.metrics.localization import StepTruth, whole_seconds
from vtr_core.metrics.ranks import MetricError
from vtr_core.metrics.step_figures import ScoredVideo
from vtr_core.nn.embeddings import TEXT
from vtr_core.similarity import SimilarityKind
from vtr_core.text.tokens.vocabulary import Vocabulary

VIDEO, AUDIO = "video", "audio"


@dataclass(frozen=True)
class SecondModel:
    """A model that embeds seconds and texts, with its features (name to dimension), vocabulary and similarity."""

    model: nn.Module
    features: Mapping[str, int]
    vocabulary: Vocabulary
    max_words: int
    similarity: SimilarityKind
    max_rows: int
    """Rows embedded at once."""
    window: int = 1
    """Length in seconds of the window that is pooled by maximum (audio by mean) before embedding."""
    audio: bool = False
    """Whether a second is represented by video and audio, as in text → video+audio retrieval."""
    beyond_zero_text: bool = False
    """Whether a score is the similarity of step and second less that of a zero text vector and the second."""

    @property
    def modalities(self) -> tuple[str, ...]:
        """The modalities that represent a second."""
        return (VIDEO, AUDIO) if self.audio else (VIDEO,)


@dataclass(frozen=True)
class ScoredSteps:
    """The scores of all videos of a data set, and the texts without a known word."""

    videos: tuple[ScoredVideo, ...]
    unknown_steps: tuple[str, ...]
    """Texts without a known word. They have the video's lowest score and count as missed."""

    @property
    def num_without_frames(self) -> int:
        """Number of videos without frames: all their steps are missed."""
        return sum(len(video.scores) == 0 for video in self.videos)

    @property
    def num_too_short(self) -> int:
        """Number of videos with frames, but fewer seconds than steps: none can be placed."""
        return sum(0 < len(video.scores) < video.scores.shape[1] for video in self.videos)

    @property
    def num_without_truth(self) -> int:
        """Number of videos without annotated segments: they are excluded from all metrics."""
        return sum(not video.truth.segments for video in self.videos)


def score_steps(using: SecondModel, manifest: Manifest, places: Sequence[RowGroup] | None = None) -> ScoredSteps:
    """The scores of the videos in `places` (default: all) of a `steps` data set, (seconds, steps) each.

    The model's mode is restored.

    score[t, k] = similarity of the k-th step's text and second t. A second's frame is pooled over the `window` seconds
    around it, t − ⌊(w−1)/2⌋ … t + ⌊w/2⌋, cut at the video's ends.
    With `audio`, seconds without sound are represented by video alone.
    With `beyond_zero_text` the similarity of a zero vector and second t is subtracted. Of the distance
    −‖v_t − s_k‖ + ‖v_t‖ is left: without it a second near the origin is near every step, and its length, not what it
    shows, decides.
    Raises DatasetError where the data set lacks the model's video feature, or with `audio` its audio feature, and
    MetricError, naming the video, for scores that are not finite.
    """
    specs = [feature for feature in manifest.schema.features if feature.name in using.modalities]
    for name in using.modalities:
        if name not in using.features or name not in [spec.name for spec in specs]:
            raise DatasetError(
                f"{manifest.uri} has {', '.join(f.name for f in manifest.schema.features)} and the model takes "
                f"{', '.join(using.features)}; localisation by {' and '.join(using.modalities)} needs {name} in both"
            )
    texts: dict[tuple[str, ...], Entries] = {}
    unknown: dict[str, None] = {}
    videos = []
    with evaluating(using.model):
        for video in read_steps(manifest, specs, places):
            if video.steps not in texts:
                texts[video.steps] = _texts(using, video.steps)
            known = texts[video.steps].any_present
            unknown.update(dict.fromkeys(np.array(video.steps)[~known].tolist()))
            videos.append(_scored(using, video, texts[video.steps]))
    return ScoredSteps(tuple(videos), tuple(unknown))


def _scored(using: SecondModel, video: StoredSteps, texts: Entries) -> ScoredVideo:
    seconds = _seconds(using, video.features)
    scores = _similarities(using, texts, seconds)
    if using.beyond_zero_text:
        scores = scores - _similarities(using, _zero(texts), seconds)
    known = texts.any_present
    if not np.isfinite(scores[:, known]).all():
        raise MetricError(
            f"{video.video_id}: the model gives scores that are not finite; see the checkpoint's training"
        )
    scores[:, ~known] = scores[:, known].min(initial=np.inf) if scores[:, known].size else 0.0
    segments = tuple(whole_seconds(s.start, s.end, s.label) for s in video.segments)
    truth = StepTruth(video.task, video.labels, segments)
    return ScoredVideo(truth, scores, tuple(np.flatnonzero(~known).tolist()))


def _similarities(using: SecondModel, texts: Entries, seconds: Entries) -> Float[np.ndarray, "seconds texts"]:
    return block_scores(texts, seconds, using.similarity)(slice(None), slice(None)).T.astype(np.float32)


def _zero(texts: Entries) -> Entries:
    """One text that is present and whose vector is zero."""
    (vectors,) = texts.parts
    return Entries((vectors.new_zeros(1, vectors.shape[1]),), (np.ones(1, np.bool_),), np.zeros(1, np.int64))


def _texts(using: SecondModel, steps: Sequence[str]) -> Entries:
    tokens = using.vocabulary.encode_all(steps, using.max_words)
    return _entries(using, {}, tokens, (TEXT,))


def _seconds(using: SecondModel, features: Mapping[str, Float16[np.ndarray, "_ _"]]) -> Entries:
    """One entry for each second of the video's frames."""
    seconds = len(features[VIDEO])
    pooled = {VIDEO: windowed(features[VIDEO], using.window)}
    if using.audio:
        pooled[AUDIO] = windowed(features[AUDIO], using.window, mean=True)[:seconds]
    return _entries(
        using, pooled, np.zeros((seconds, using.vocabulary.row_length(using.max_words)), TOKEN_DTYPE), using.modalities
    )


def _entries(
    using: SecondModel,
    features: Mapping[str, Float16[np.ndarray, "_ _"]],
    tokens: np.ndarray,
    modalities: tuple[str, ...],
) -> Entries:
    """The embeddings of rows with `tokens` and `features`, which may end before the last row."""
    device = next(using.model.parameters()).device
    vectors: dict[str, list[torch.Tensor]] = {name: [] for name in modalities}
    present: dict[str, list[np.ndarray]] = {name: [] for name in modalities}
    for batch in _batches(using, features, tokens):
        embedded = using.model(batch.to(device))
        for name in modalities:
            vectors[name].append(embedded.vectors[name].float().cpu())
            present[name].append(embedded.present[name].cpu().numpy())
    return Entries(
        parts=tuple(torch.cat(vectors[name]) for name in modalities),
        present=tuple(np.concatenate(present[name]) for name in modalities),
        key=np.arange(len(tokens)),
    )


def _batches(
    using: SecondModel, features: Mapping[str, Float16[np.ndarray, "_ _"]], tokens: np.ndarray
) -> Iterator[ClipBatch]:
    """Batches of at most `max_rows` rows; a single empty one where there are no rows."""
    rows = np.arange(len(tokens))
    columns: dict[str, np.ndarray] = {"tokens": tokens, "clip_key": rows, "video_key": rows, "caption_key": rows}
    for name, dim in using.features.items():
        values = np.zeros((len(tokens), dim), FEATURE_DTYPE)
        if name in features:
            values[: len(features[name])] = features[name]
        columns[name] = values
        columns[f"has_{name}"] = rows < len(features.get(name, ()))
    for first in range(0, max(1, len(tokens)), using.max_rows):
        part = {name: array[first : first + using.max_rows] for name, array in columns.items()}
        yield clip_batch(part, list(using.features))


def windowed(
    frames: Float16[np.ndarray, "seconds dim"], window: int, mean: bool = False
) -> Float16[np.ndarray, "seconds dim"]:
    """The maximum (or mean) of the `window` frames around each, see `score_steps`; with 1 the frames as they are."""
    if window == 1 or len(frames) == 0:
        return frames
    before, after = (window - 1) // 2, window // 2
    parts = (frames[max(0, t - before) : t + after + 1] for t in range(len(frames)))
    pooled = [part.mean(axis=0, dtype=np.float32) if mean else part.max(axis=0) for part in parts]
    return np.stack(pooled).astype(FEATURE_DTYPE)
