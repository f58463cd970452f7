"""Capsule activations of a data set: of a uniform sample of its clips, and as tables of rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float32, Int64
from torch import nn

from vtr_core.analysis.concept_profiles import lowest, priorities
from vtr_core.data.batches import ClipBatch, clip_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.records.schema import FEATURE_DTYPE
from vtr_core.embedding.embedded_rows import evaluating
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.nn.capsules.dynamic_routing import Capsules
from vtr_core.nn.embeddings import TEXT
from vtr_core.text.tokens.vocabulary import Vocabulary

DESCRIPTION = ("clip_id", "video_id", "start", "end", "caption")


@runtime_checkable
class CapsuleModel(Protocol):
    """Protocol of a model with capsule activations."""

    def activations(self, batch: ClipBatch) -> dict[str, Capsules]:
        """The secondary capsules of every modality."""
        ...


def capsule_model(model: nn.Module, kind: str) -> CapsuleModel:
    """`model`, if it has capsules; ConfigError for a model without, of configuration `kind`."""
    if isinstance(model, CapsuleModel):
        return model
    raise ConfigError(
        f"the checkpoint's model ({kind}) has no capsules, so there are no activations to show; "
        "give a checkpoint of a capsule network (model.kind capsule_net)"
    )


@dataclass(frozen=True)
class ClipActivations:
    """Sampled clips in file order. A clip's activation is the maximum over its rows, one row per caption."""

    num_clips: int
    """Of the whole data set."""
    clips: Columns
    """Columns clip_id, video_id, video_key, start, end, and captions, a tuple for each clip."""
    present: Mapping[str, Bool[np.ndarray, " clips"]]
    activations: Mapping[str, Float32[np.ndarray, "clips capsules"]]
    """By modality; undefined for a clip that lacks it."""

    @property
    def absent(self) -> tuple[str, ...]:
        """The model's modalities that no clip has."""
        return tuple(name for name, has in self.present.items() if not has.any())

    @property
    def known(self) -> tuple[str, ...]:
        """Its other modalities."""
        return tuple(name for name in self.activations if self.present[name].any())

    def of(self, modality: str) -> tuple[Int64[np.ndarray, " rows"], Float32[np.ndarray, "rows capsules"]]:
        """The clips that have a modality, and their activations."""
        rows = np.flatnonzero(self.present[modality])
        return rows, self.activations[modality][rows]


def read_activations(
    model: CapsuleModel,
    features: Mapping[str, int],
    manifest: Manifest,
    vocabulary: Vocabulary,
    *,
    max_clips: int,
    batch_rows: int,
    seed: int = 0,
) -> ClipActivations:
    """Capsule activations of `max_clips` clips at most, computed in one pass on the model's device.

    The sample is uniform and depends on the clips and the seed alone. Raises CheckpointError for activations that are
    not finite.
    """
    parts: list[Columns] = []
    num_clips = 0
    with evaluating(cast(nn.Module, model)):
        for columns in described_groups(manifest, vocabulary, features, row_groups(manifest)):
            parts.append(_clips(columns, row_activations(model, columns, features, batch_rows), seed))
            num_clips += len(parts[-1]["priority"])
            if sum(len(part["priority"]) for part in parts) > 2 * max_clips:
                parts = [_sample(parts, max_clips)]
    sample = _sample(parts, max_clips)

    def by_modality(prefix: str) -> dict[str, np.ndarray]:
        return {name.removeprefix(prefix): values for name, values in sample.items() if name.startswith(prefix)}

    clips = {name: values for name, values in sample.items() if "/" not in name and name != "priority"}
    return ClipActivations(num_clips, clips, by_modality("present/"), by_modality("activations/"))


def _sample(parts: Sequence[Columns], count: int) -> Columns:
    """The `count` clips of the lowest priorities, in order."""
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    rows = lowest(joined["priority"], count)
    return {name: values[rows] for name, values in joined.items()}


def _clips(columns: Columns, rows: "Rows", seed: int) -> Columns:
    """A row for each clip of a row group, which must hold all rows of its clips, in the order of their first rows."""
    _, first, inverse = np.unique(columns["clip_key"], return_index=True, return_inverse=True)
    order = np.argsort(first[inverse], kind="stable")
    starts = np.flatnonzero(np.diff(first[inverse][order], prepend=-1))
    captions = np.empty(len(starts), object)
    for clip, own in enumerate(np.split(columns["caption"][order], starts[1:])):
        captions[clip] = tuple(map(str, own))
    described = ("clip_id", "video_id", "video_key", "start", "end")
    clips = {name: np.asarray(columns[name])[order[starts]] for name in described}
    clips |= {"captions": captions, "priority": priorities(columns["clip_key"][order[starts]], seed)}
    for name, (values, has) in rows.items():
        some = np.maximum.reduceat(has[order], starts)
        known = np.where(has[:, None], values, -np.inf).astype(np.float32)[order]
        strongest = np.where(some[:, None], np.maximum.reduceat(known, starts, axis=0), 0).astype(np.float32)
        clips |= {f"present/{name}": some, f"activations/{name}": strongest}
    return clips


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
