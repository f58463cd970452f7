"""`vtr embed --write concepts`: the most probable concepts of every video of some row groups."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float32

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.data.reading.frames import VideoRows, video_rows
from vtr_core.errors import ConfigError
from vtr_core.retrieval.embed.evaluating import evaluating
from vtr_core.retrieval.embed.frames import check_frames
from vtr_core.retrieval.embed.outputs import Output, OutputSettings
from vtr_core.systems.dual.model import HybridEncoder
from vtr_core.systems.dual.rows import dual_encoder
from vtr_core.systems.loaded_model import TrainedModel

TOP = 10
"""Concepts of a video where no other number is asked for."""


def _check(loaded: TrainedModel, manifest: Manifest, settings: OutputSettings) -> None:
    model = dual_encoder(loaded)
    check_frames(manifest, model.config)
    if not loaded.concepts:
        raise ConfigError(f"{loaded.uri} has no concept space; give a dual encoder that was trained with --concepts")
    if not 1 <= settings.get("top", 1) <= len(loaded.concepts):
        raise ConfigError(f"vtr embed: --top is {settings['top']}; the model has {len(loaded.concepts)} concepts")


def _table(loaded: TrainedModel, manifest: Manifest, places: Sequence[RowGroup], settings: OutputSettings) -> pa.Table:
    """Columns video_id, has_frames, concepts, probabilities: σ(h), descending; empty lists without frames."""
    model = dual_encoder(loaded)
    empty = _rows(loaded.concepts, (), np.zeros(0, np.bool_), np.zeros((0, len(loaded.concepts)), np.float32), 1)
    with evaluating(model):
        frames = loaded.config.batch.max_frames
        found = video_rows(manifest, places, frames, features=[model.config.feature])
        parts = [_rows(loaded.concepts, *part, _top(settings)) for part in _probabilities(model, found)]
    return pa.concat_tables([empty, *parts])


def _probabilities(
    model: HybridEncoder, found: Iterator[VideoRows]
) -> Iterator[tuple[Sequence[str], np.ndarray, Float32[np.ndarray, "videos concepts"]]]:
    name, device = model.config.feature, next(model.parameters()).device
    for videos in found:
        seen = model.video(*(part[name].to(device) for part in (videos.frames, videos.mask, videos.mean)))
        assert seen.concept_scores is not None, "checked"
        probabilities = torch.sigmoid(seen.concept_scores.float()).cpu().numpy()
        yield videos.video_id, videos.present[name].numpy(), probabilities


def _rows(
    concepts: Sequence[str], names: Sequence[str], present: np.ndarray, probabilities: np.ndarray, top: int
) -> pa.Table:
    """The strongest concepts of each video, ties in the order of the concepts."""
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, :top]
    strongest = np.take_along_axis(probabilities, order, axis=1)
    words = np.asarray(concepts, object)[order]
    columns = {
        "video_id": pa.array(list(names), pa.string()),
        "has_frames": pa.array(present, pa.bool_()),
        "concepts": pa.array([list(row) if has else [] for row, has in zip(words, present, strict=True)], _WORDS),
        "probabilities": pa.array([row if has else [] for row, has in zip(strongest, present, strict=True)], _NUMBERS),
    }
    return pa.table(columns)


_WORDS, _NUMBERS = pa.list_(pa.string()), pa.list_(pa.float32())


def _top(settings: OutputSettings) -> int:
    return int(settings.get("top", TOP))


CONCEPTS = Output(_check, _table, frozenset({"top"}))
