"""The clips of a data set that a model with one joint space finds: their vectors and their descriptions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Int64

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.data.records.schema import VideoSchema
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.rankings import visible
from vtr_core.embedding.scoring import first_of_clips
from vtr_core.retrieval.index.items import Items, described


@dataclass(frozen=True)
class JointClips:
    """The searched clips without duplicates, with vectors by modality."""

    items: Items
    vectors: dict[str, Float32[np.ndarray, "clips dim"]]
    present: dict[str, Bool[np.ndarray, " clips"]]
    rows: Int64[np.ndarray, " clips"]
    """The row of each clip among those that were embedded."""


def joint_clips(rows: EmbeddedRows, manifest: Manifest, places: Sequence[RowGroup]) -> JointClips | None:
    """The clips with any modality beside text of `rows`, which are all rows of some row groups in file order.

    In data sets of whole videos the video is the clip. None where no clip has a modality.
    """
    names = visible(rows)
    if not names:
        return None
    first = first_of_clips(rows)
    kept = first[np.logical_or.reduce([rows.present[name][first] for name in names])]
    keys = rows.video_key if isinstance(manifest.schema, VideoSchema) else rows.clip_key
    return JointClips(
        items=described(manifest, keys[kept], places),
        vectors={name: np.where(rows.present[name][kept, None], rows.vectors[name][kept], 0) for name in names},
        present={name: rows.present[name][kept] for name in names},
        rows=kept,
    )
