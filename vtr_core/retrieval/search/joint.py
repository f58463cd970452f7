"""Scores of clips in one joint space under the similarity of training."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int64

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.schema import FrameSchema, VideoSchema
from vtr_core.errors import DatasetError
from vtr_core.retrieval.embed.clips import EmbeddedRows
from vtr_core.retrieval.evaluate.entries import Entries, first_of_clips
from vtr_core.retrieval.evaluate.retrieval import visible
from vtr_core.retrieval.evaluate.scoring import block_scores
from vtr_core.similarity import SimilarityKind


@dataclass(frozen=True)
class JointClips:
    """The searched clips without duplicates, with vectors by modality."""

    item_id: tuple[str, ...]
    video_id: tuple[str, ...]
    start: tuple[float | None, ...]
    """Start times in seconds of clips; None for whole videos."""
    end: tuple[float | None, ...]
    vectors: dict[str, Float32[np.ndarray, "clips dim"]]
    present: dict[str, Bool[np.ndarray, " clips"]]


def joint_clips(rows: EmbeddedRows, manifest: Manifest) -> JointClips:
    """The clips with any modality beside text of `rows`, which are all rows of the data set in file order."""
    names = visible(rows)
    if not names:
        raise DatasetError(f"{manifest.uri}: no clip has any feature that the model takes; there is nothing to find")
    first = first_of_clips(rows)
    kept = first[np.logical_or.reduce([rows.present[name][first] for name in names])]
    clip_id, video_id, start, end = _described(manifest, rows)
    return JointClips(
        item_id=tuple(map(str, clip_id[kept])),
        video_id=tuple(map(str, video_id[kept])),
        start=tuple(start[kept].tolist()),
        end=tuple(end[kept].tolist()),
        vectors={name: np.where(rows.present[name][kept, None], rows.vectors[name][kept], 0) for name in names},
        present={name: rows.present[name][kept] for name in names},
    )


def _described(manifest: Manifest, embedded: EmbeddedRows) -> tuple[np.ndarray, ...]:
    """For each row the ids of clip and video, and start and end of the clip.

    In data sets of whole videos, with a row for each caption, the video is the clip; its times are None.
    """
    if isinstance(manifest.schema, FrameSchema):
        return _described_once(manifest, embedded.clip_key)
    video_key = embedded.video_key
    whole = isinstance(manifest.schema, VideoSchema)
    names = ("video_key", "video_id") if whole else ("clip_id", "video_id", "start", "end")
    reader = RowGroupReader(manifest, names)
    read = [reader.read_arrow(place) if whole else reader.read(place) for place in row_groups(manifest)]
    found = tuple(np.concatenate([np.asarray(columns[name]) for columns in read]) for name in names)
    if not whole:
        return found
    key, video_id = found
    order = np.argsort(key)
    video_id = video_id[order[np.searchsorted(key, video_key, sorter=order)]]
    unknown = np.full(len(video_id), None)
    return video_id, video_id, unknown, unknown


def _described_once(manifest: Manifest, clip_key: Int64[np.ndarray, " rows"]) -> tuple[np.ndarray, ...]:
    """The same of clips that are stored once, for rows of their captions."""
    reader = RowGroupReader(manifest, ("clip_key", "clip_id", "video_id", "start", "end"))
    read = [reader.read_arrow(place) for place in row_groups(manifest)]
    key, *found = (np.concatenate([np.asarray(columns[name]) for columns in read]) for name in reader.columns)
    order = np.argsort(key)
    row = order[np.searchsorted(key, clip_key, sorter=order)]
    return tuple(values[row] for values in found)


def joint_scores(
    vectors: dict[str, np.ndarray],
    present: dict[str, np.ndarray],
    queries: Float32[np.ndarray, "queries dim"],
    similarity: SimilarityKind,
    chosen: Sequence[int] | np.ndarray | None = None,
) -> Float32[np.ndarray, "queries clips"]:
    """The scores of the clips `chosen` (None: all): the mean over a clip's modalities, as in evaluation."""
    names = list(vectors)
    index = slice(None) if chosen is None else np.asarray(chosen)
    items = Entries(
        tuple(torch.from_numpy(vectors[name][index]) for name in names),
        tuple(present[name][index] for name in names),
        np.zeros(len(vectors[names[0]][index]), np.int64),
    )
    asked = Entries((torch.from_numpy(queries),), (np.ones(len(queries), bool),), np.zeros(len(queries), np.int64))
    scores = block_scores(asked, items, similarity)(slice(0, len(queries)), slice(0, len(items.key)))
    return np.asarray(scores, np.float32)
