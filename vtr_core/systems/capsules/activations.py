"""Capsule activations of a data set, read as a stream: strongest clips, usage, a sample, rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast, runtime_checkable

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float32, Int64, UInt64
from torch import nn

from vtr_core.analysis.capsule_usage import CapsuleUsage, TopClips, UsageMeter, lowest, priorities
from vtr_core.analysis.concept_profiles import concept_words
from vtr_core.data.batches import ClipBatch, clip_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.records.schema import FEATURE_DTYPE
from vtr_core.embedding.embedded_rows import check_features, evaluating
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.nn.capsules.capsules import Capsules
from vtr_core.nn.embeddings import TEXT
from vtr_core.systems.implementation import Output, OutputSettings
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.text.tokens.vocabulary import Vocabulary


@dataclass(frozen=True)
class ClipSample:
    """Sampled clips: priority, caption words, and activations by modality."""

    priority: UInt64[np.ndarray, " sample"]
    video_key: Int64[np.ndarray, " sample"]
    words: tuple[frozenset[str], ...]
    present: dict[str, np.ndarray]
    activations: dict[str, np.ndarray]

    @classmethod
    def joined(cls, parts: Sequence["ClipSample"]) -> "ClipSample":
        """The clips of all parts, in order."""
        return cls(
            np.concatenate([part.priority for part in parts]),
            np.concatenate([part.video_key for part in parts]),
            tuple(words for part in parts for words in part.words),
            {name: np.concatenate([part.present[name] for part in parts]) for name in parts[0].present},
            {name: np.concatenate([part.activations[name] for part in parts]) for name in parts[0].activations},
        )

    def lowest(self, count: int) -> "ClipSample":
        """The `count` clips with the lowest priorities, in unchanged order."""
        if len(self.priority) <= count:
            return self
        kept = lowest(self.priority, count)
        return ClipSample(
            self.priority[kept],
            self.video_key[kept],
            tuple(self.words[i] for i in kept),
            {name: has[kept] for name, has in self.present.items()},
            {name: values[kept] for name, values in self.activations.items()},
        )


DESCRIPTION = ("clip_id", "video_id", "start", "end", "caption")


@runtime_checkable
class CapsuleModel(Protocol):
    """Protocol of a model with capsule activations."""

    def activations(self, batch: ClipBatch) -> dict[str, Capsules]:
        """The secondary capsules of every modality."""
        ...


@dataclass(frozen=True)
class Clip:
    """A clip as shown in the report, with all its captions and the text capsules' activations on each."""

    clip_id: str
    video_id: str
    start: float
    end: float
    captions: tuple[str, ...]
    caption_activations: Float32[np.ndarray, "captions capsules"]
    """−inf for a caption without an in-vocabulary word."""


@dataclass(frozen=True)
class ModalityActivations:
    """Activations of one modality's capsules: usage and strongest clips over all clips that have the modality."""

    usage: CapsuleUsage
    top: TopClips
    present: Bool[np.ndarray, " sample"]
    activations: Float32[np.ndarray, "sample capsules"]
    """Activations of the sampled clips; undefined for a clip that lacks the modality."""


@dataclass(frozen=True)
class DatasetActivations:
    """Capsule activations on a data set. `modalities` has only those that at least one clip has."""

    num_clips: int
    clips: dict[int, Clip]
    """By clip number in file order; only clips that are among the strongest of some capsule."""
    words: tuple[frozenset[str], ...]
    """The concept words of each sampled clip's captions."""
    video_key: Int64[np.ndarray, " sample"]
    modalities: dict[str, ModalityActivations]
    absent: tuple[str, ...]
    """The model's modalities that no clip has."""


def capsule_model(model: nn.Module, kind: str) -> CapsuleModel:
    """`model`, if it has capsules; ConfigError for a model without, of configuration `kind`."""
    if isinstance(model, CapsuleModel):
        return model
    raise ConfigError(
        f"the checkpoint's model ({kind}) has no capsules, so there are no activations to show; "
        "give a checkpoint of a capsule network (model.kind capsule_net)"
    )


@torch.inference_mode()
def read_activations(
    model: CapsuleModel,
    features: Mapping[str, int],
    manifest: Manifest,
    vocabulary: Vocabulary,
    *,
    places: int,
    max_clips: int,
    batch_rows: int,
    seed: int,
) -> DatasetActivations:
    """Capsule activations of a data set, computed in one pass on the model's device.

    A clip's activation is the maximum over its rows, one row per caption. Memory holds `places` clips per capsule and
    modality, and the activations and words of `max_clips` sampled clips. Raises CheckpointError for activations that
    are not finite.
    """
    module = cast(nn.Module, model)
    was_training = module.training
    module.eval()
    tally: _Tally | None = None
    for columns in described_groups(manifest, vocabulary, features, row_groups(manifest)):
        rows = row_activations(model, columns, features, batch_rows)
        tally = tally or _Tally({name: values.shape[1] for name, (values, _) in rows.items()}, places, max_clips, seed)
        tally.add(columns, rows)
    module.train(was_training)
    assert tally is not None, "a data set has at least one row group"
    return tally.result()


Rows = dict[str, tuple[np.ndarray, np.ndarray]]
"""Modality to activations (rows, capsules) float32 and presence (rows,)."""


def described_groups(
    manifest: Manifest, vocabulary: Vocabulary, features: Mapping[str, int], places: Sequence[RowGroup]
) -> Iterator[Columns]:
    """Row groups with tokens of `vocabulary`; features that the data set lacks are zeros, marked as not present."""
    known = manifest.vocabulary.fingerprint == vocabulary.fingerprint
    reader = RowGroupReader(manifest, [*training_columns(manifest.schema, names=features), *DESCRIPTION])
    for place in places:
        columns = reader.read(place)
        rows = len(columns["clip_key"])
        if not known:
            max_words = manifest.schema.max_words
            columns["tokens"] = np.stack([vocabulary.encode(text, max_words) for text in columns["caption"]])
        for name in features.keys() - columns.keys():
            columns[name] = np.zeros((rows, features[name]), FEATURE_DTYPE)
            columns[f"has_{name}"] = np.zeros(rows, np.bool_)
        yield columns


def row_activations(model: CapsuleModel, columns: Columns, features: Mapping[str, int], batch_rows: int) -> Rows:
    """The activations on the rows of a group, by modality; CheckpointError for numbers that are not finite."""
    device = next(cast(nn.Module, model).parameters()).device
    parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for first in range(0, len(columns["clip_key"]), batch_rows):
        batch = clip_batch({n: a[first : first + batch_rows] for n, a in columns.items()}, list(features)).to(device)
        present = {TEXT: batch.text_present, **batch.present}
        for name, capsules in model.activations(batch).items():
            values = capsules.activations.float().cpu().numpy()
            parts.setdefault(name, []).append((values, present[name].cpu().numpy()))
    rows = {name: (np.concatenate([v for v, _ in p]), np.concatenate([h for _, h in p])) for name, p in parts.items()}
    for name, (values, has) in rows.items():
        if not np.isfinite(values[has]).all():
            raise CheckpointError(f"the model's {name} capsules give activations that are not finite; train it anew")
    return rows


class _Tally:
    """Running results over the row groups of a stream."""

    def __init__(self, capsules: Mapping[str, int], places: int, max_clips: int, seed: int) -> None:
        self._max_clips, self._seed = max_clips, seed
        self._num_clips = 0
        self._clips: dict[int, Clip] = {}
        self._meters = {name: UsageMeter(count) for name, count in capsules.items()}
        self._tops = {name: TopClips.empty(places, count) for name, count in capsules.items()}
        self._sample = ClipSample(
            np.zeros(0, np.uint64),
            np.zeros(0, np.int64),
            (),
            {name: np.zeros(0, np.bool_) for name in capsules},
            {name: np.zeros((0, count), np.float32) for name, count in capsules.items()},
        )
        self._waiting: list[ClipSample] = []

    def add(self, columns: Columns, rows: Rows) -> None:
        """Adds one row group, which must hold all rows of its clips."""
        order, starts = _clip_order(columns["clip_key"])
        clips = {name: _strongest(values[order], has[order], starts) for name, (values, has) in rows.items()}
        first = self._num_clips
        self._num_clips += len(starts)
        numbers = np.arange(first, self._num_clips, dtype=np.int64)
        for name, (values, has) in clips.items():
            self._meters[name].add(values[has])
            self._tops[name] = self._tops[name].with_clips(numbers[has], values[has])
        bounds = np.append(starts, len(order))
        held = set().union(*(top.numbers for top in self._tops.values()))
        text = np.where(rows[TEXT][1][:, None], rows[TEXT][0], -np.inf).astype(np.float32)
        described = {number: self._clips.get(number) for number in sorted(held)}
        self._clips = {
            number: clip or _describe(columns, text, order[bounds[number - first] : bounds[number - first + 1]])
            for number, clip in described.items()
        }
        self._add_to_sample(columns, clips, order, bounds)

    def _add_to_sample(self, columns: Columns, clips: Rows, order: np.ndarray, bounds: np.ndarray) -> None:
        """Adds clips to the sample; only the captions of clips that can still belong to it are decoded."""
        starts = order[bounds[:-1]]
        priority = priorities(columns["clip_key"][starts], self._seed)
        full = len(self._sample.priority) == self._max_clips
        chosen = np.flatnonzero(priority < self._sample.priority.max()) if full else lowest(priority, self._max_clips)
        captions = columns["caption"]
        new = ClipSample(
            priority[chosen],
            columns["video_key"][starts][chosen],
            tuple(concept_words(captions[order[bounds[i] : bounds[i + 1]]].tolist()) for i in chosen),
            {name: has[chosen] for name, (_, has) in clips.items()},
            {name: values[chosen] for name, (values, _) in clips.items()},
        )
        self._waiting.append(new)
        if sum(len(part.priority) for part in self._waiting) > self._max_clips // 4:
            self._merge()

    def _merge(self) -> None:
        """Merges pending clips into the sample; deferred until enough are pending, because each merge copies the whole
        sample.
        """
        self._sample = ClipSample.joined([self._sample, *self._waiting]).lowest(self._max_clips)
        self._waiting = []

    def result(self) -> DatasetActivations:
        """The final results; the sample is a function of the clips and the seed, in file order."""
        self._merge()
        seen = [name for name, meter in self._meters.items() if meter.clips]
        sample = self._sample
        return DatasetActivations(
            num_clips=self._num_clips,
            clips=self._clips,
            words=sample.words,
            video_key=sample.video_key,
            modalities={
                name: ModalityActivations(
                    self._meters[name].usage(), self._tops[name], sample.present[name], sample.activations[name]
                )
                for name in seen
            },
            absent=tuple(name for name in self._meters if name not in seen),
        )


def _clip_order(clip_key: Int64[np.ndarray, " rows"]) -> tuple[np.ndarray, np.ndarray]:
    """Row order that groups rows by clip, clips ordered by their first row; and the offset of each clip in it."""
    _, first, inverse = np.unique(clip_key, return_index=True, return_inverse=True)
    order = np.argsort(first[inverse], kind="stable")
    starts = np.flatnonzero(np.diff(first[inverse][order], prepend=-1))
    return order, starts


def _strongest(
    values: Float32[np.ndarray, "rows capsules"], has: Bool[np.ndarray, " rows"], starts: Int64[np.ndarray, " clips"]
) -> tuple[np.ndarray, np.ndarray]:
    """Per clip, the maximum over its rows that have the modality, and whether any row has it."""
    some = np.maximum.reduceat(has, starts)
    strongest = np.maximum.reduceat(np.where(has[:, None], values, -np.inf).astype(np.float32), starts, axis=0)
    return np.where(some[:, None], strongest, 0).astype(np.float32), some


def _describe(columns: Columns, text: np.ndarray, rows: np.ndarray) -> Clip:
    first = rows[0]
    return Clip(
        clip_id=str(columns["clip_id"][first]),
        video_id=str(columns["video_id"][first]),
        start=float(columns["start"][first]),
        end=float(columns["end"][first]),
        captions=tuple(str(columns["caption"][row]) for row in rows),
        caption_activations=text[rows],
    )


def captions_by_activation(clip: Clip, capsule: int) -> Clip:
    """The clip with its captions in descending order of a text capsule's activation."""
    order = np.argsort(-clip.caption_activations[:, capsule], kind="stable")
    return replace(
        clip,
        captions=tuple(clip.captions[i] for i in order),
        caption_activations=clip.caption_activations[order],
    )


_TEXTS, _TIMES = ("clip_id", "video_id", "caption"), ("start", "end")


def _check(loaded: TrainedModel, manifest: Manifest, settings: OutputSettings) -> None:  # noqa: ARG001  as all outputs
    capsule_model(loaded.model, loaded.config.model.kind)
    check_features(manifest, loaded.config.model.inputs.features)


@torch.inference_mode()
def _table(
    loaded: TrainedModel,
    manifest: Manifest,
    places: Sequence[RowGroup],
    settings: OutputSettings,  # noqa: ARG001  all outputs' are called alike
) -> pa.Table:
    """Columns clip_id, video_id, caption, start, end, and of each modality a list of a number for each capsule.

    A row that lacks a modality, or whose caption has no known word, has null there. CheckpointError for activations
    that are not finite.
    """
    model, features = capsule_model(loaded.model, loaded.config.model.kind), loaded.config.model.inputs.features
    parts = []
    with evaluating(loaded.model):
        for columns in described_groups(manifest, loaded.vocabulary, features, places):
            rows = row_activations(model, columns, features, loaded.config.evaluation.batch_rows)
            described = {name: pa.array(columns[name], pa.string()) for name in _TEXTS}
            described |= {name: pa.array(columns[name], pa.float64()) for name in _TIMES}
            parts.append(pa.table({**described, **_lists(rows)}))
    return pa.concat_tables(parts)


def _lists(rows: Rows) -> dict[str, pa.Array]:
    return {name: _list(values, has) for name, (values, has) in rows.items()}


def _list(values: np.ndarray, has: np.ndarray) -> pa.Array:
    """Lists (capsules,) float32, null where the modality is not there."""
    size = values.shape[1]
    ends = np.concatenate([[0], np.cumsum(np.where(has, size, 0))]).astype(np.int32)
    held = pa.array(values[has].reshape(-1), pa.float32())
    return pa.ListArray.from_arrays(pa.array(ends), held, mask=pa.array(~has))


ACTIVATIONS = Output(_check, _table)
