"""Clips of a model with one joint space, ranked for a query by the similarity that it was trained with."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float32

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.row_groups import RowGroupReader
from vtr_core.errors import DatasetError
from vtr_core.retrieval.embed import EmbeddedRows
from vtr_core.retrieval.evaluation import visible
from vtr_core.retrieval.scoring import block_scores
from vtr_core.retrieval.sides import Side, first_of_clips
from vtr_core.similarity import SimilarityKind


@dataclass(frozen=True)
class JointClips:
    """What is searched: each clip once, with a vector for each modality that some clip has."""

    item_id: tuple[str, ...]
    video_id: tuple[str, ...]
    vectors: dict[str, Float32[np.ndarray, "clips dim"]]
    present: dict[str, Bool[np.ndarray, " clips"]]


def joint_clips(rows: EmbeddedRows, manifest: Manifest) -> JointClips:
    """The clips of `rows`, all of the data set in file order, that have any modality beside text, with their ids."""
    names = visible(rows)
    if not names:
        raise DatasetError(f"{manifest.uri}: no clip has any feature that the model takes; there is nothing to find")
    first = first_of_clips(rows)
    kept = first[np.logical_or.reduce([rows.present[name][first] for name in names])]
    reader = RowGroupReader(manifest, ["clip_id", "video_id"])
    read = [reader.read(place) for place in row_groups(manifest)]
    clip_id, video_id = (np.concatenate([columns[name] for columns in read]) for name in ("clip_id", "video_id"))
    return JointClips(
        item_id=tuple(map(str, clip_id[kept])),
        video_id=tuple(map(str, video_id[kept])),
        vectors={name: np.where(rows.present[name][kept, None], rows.vectors[name][kept], 0) for name in names},
        present={name: rows.present[name][kept] for name in names},
    )


def joint_scores(
    vectors: dict[str, np.ndarray],
    present: dict[str, np.ndarray],
    queries: Float32[np.ndarray, "queries dim"],
    similarity: SimilarityKind,
    chosen: Sequence[int] | np.ndarray | None = None,
) -> Float32[np.ndarray, "queries clips"]:
    """The scores of the clips `chosen`, all without it; a clip's modalities are added, as in evaluation."""
    names = list(vectors)
    index = slice(None) if chosen is None else np.asarray(chosen)
    items = Side(
        tuple(torch.from_numpy(vectors[name][index]) for name in names),
        tuple(present[name][index] for name in names),
        np.zeros(len(vectors[names[0]][index]), np.int64),
    )
    asked = Side((torch.from_numpy(queries),), (np.ones(len(queries), bool),), np.zeros(len(queries), np.int64))
    scores = block_scores(asked, items, similarity)(slice(0, len(queries)), slice(0, len(items.key)))
    return np.asarray(scores, np.float32)
