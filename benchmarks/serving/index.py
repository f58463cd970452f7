"""An index of generated clips, and a model that embeds queries for it."""

from pathlib import Path

import numpy as np
import torch

from vtr_core.config.override import override
from vtr_core.data.ingest.ingest import begin, do, finish
from vtr_core.data.ingest.plan import IngestOptions, plan_ingest
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.synthetic import Synthetic
from vtr_core.embedding.embedded_rows import model_fingerprint
from vtr_core.retrieval.index.index import Shard, VideoIndex, save_index
from vtr_core.retrieval.index.items import Item
from vtr_core.retrieval.index.record import IndexRecord
from vtr_core.run.build import build_model
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress, save_checkpoint

PRESET = "capsule-howto-tiny"
_CLIP_S, _CLIPS_PER_VIDEO = 5.0, 20
_DATA_CLIPS = 300
"""Of the data set that the vocabulary comes from."""


def generated_index(folder: Path, num_clips: int, dim: int) -> tuple[str, tuple[str, ...]]:
    """An index of `num_clips` random vectors of `dim` dimensions, and the words of its queries.

    The model has the size of its preset but for `dim`, with random weights: what a search costs does not depend on
    them.
    """
    plan = plan_ingest(Synthetic(num_clips=_DATA_CLIPS), locate(str(folder / "data")), None, IngestOptions())
    for task in begin(plan):
        do(plan, task)
    data = finish(plan).manifests[0]
    words = WordTable.load(data).vocabulary
    torch.manual_seed(0)
    config = with_inputs(
        override(preset(PRESET), {"model.embedding_dim": dim, "evaluation.similarity": "cosine"}), data
    )
    model = build_model(config.model)
    checkpoint = str(folder / "model")
    save_checkpoint(locate(checkpoint), Checkpoint(config, model.state_dict(), {}, Progress(step=0), words))
    vectors = np.random.default_rng(0).standard_normal((num_clips, dim), np.float32)
    record = IndexRecord(
        kind="joint",
        checkpoint=checkpoint,
        model_fingerprint=model_fingerprint(model),
        preset=PRESET,
        data=str(folder / "none"),
        data_fingerprint="",
        num_items=num_clips,
        sizes={"video": dim},
        similarity="cosine",
        latent_weight=0.0,
    )
    tensors = {"video": vectors, "has_video": np.ones(num_clips, bool)}
    save_index(locate(str(folder / "index")), VideoIndex.of(record, Shard.of(tensors, map(_clip, range(num_clips)))))
    return str(folder / "index"), tuple(words.words)


def _clip(number: int) -> Item:
    video, clip = divmod(number, _CLIPS_PER_VIDEO)
    return Item(f"v{video}:{clip}", f"v{video}", clip * _CLIP_S, (clip + 1) * _CLIP_S)
