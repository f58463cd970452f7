"""`vtr embed --write activations`: the capsules' activations on every row of some row groups, by modality."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import torch

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.retrieval.embed.clips import check_features
from vtr_core.retrieval.embed.evaluating import evaluating
from vtr_core.retrieval.embed.outputs import Output, OutputSettings
from vtr_core.systems.capsules.activations.read import Rows, capsule_model, described_groups, row_activations
from vtr_core.systems.loaded_model import TrainedModel

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
