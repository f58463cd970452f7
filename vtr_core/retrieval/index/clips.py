"""The clips of a data set that a model with one joint space finds: their vectors and their descriptions."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32

from vtr_core.data.manifest import Manifest
from vtr_core.data.records.schema import VideoSchema
from vtr_core.errors import DatasetError
from vtr_core.retrieval.embed.clips import EmbeddedRows
from vtr_core.retrieval.evaluate.entries import first_of_clips
from vtr_core.retrieval.evaluate.retrieval import visible
from vtr_core.retrieval.index.items import Items, described


@dataclass(frozen=True)
class JointClips:
    """The searched clips without duplicates, with vectors by modality."""

    items: Items
    vectors: dict[str, Float32[np.ndarray, "clips dim"]]
    present: dict[str, Bool[np.ndarray, " clips"]]


def joint_clips(rows: EmbeddedRows, manifest: Manifest) -> JointClips:
    """The clips with any modality beside text of `rows`, which are all rows of the data set in file order.

    In data sets of whole videos the video is the clip. DatasetError where no clip has a modality.
    """
    names = visible(rows)
    if not names:
        raise DatasetError(f"{manifest.uri}: no clip has any feature that the model takes; there is nothing to find")
    first = first_of_clips(rows)
    kept = first[np.logical_or.reduce([rows.present[name][first] for name in names])]
    keys = rows.video_key if isinstance(manifest.schema, VideoSchema) else rows.clip_key
    return JointClips(
        items=described(manifest, keys[kept]),
        vectors={name: np.where(rows.present[name][kept, None], rows.vectors[name][kept], 0) for name in names},
        present={name: rows.present[name][kept] for name in names},
    )
