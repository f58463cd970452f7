"""Embedding and training of models from `ClipBatch` to `Embeddings`, that is of clips in one joint space."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float32
from torch import nn

from vtr_core.data.batches.batch import clip_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.retrieval.embed.clips import EmbeddedRows, check_features, embed, embed_captions
from vtr_core.retrieval.embed.joint_space import JointSpace
from vtr_core.run.config import TrainConfig
from vtr_core.systems.joint_space.served import encode_features
from vtr_core.systems.joint_space.task import RetrievalTask
from vtr_core.systems.joint_space.towers import clip_towers
from vtr_core.systems.loss_tables import LossTables
from vtr_core.text.tokens.vocabulary import Vocabulary


def clip_task(
    config: TrainConfig,
    rank: int,
    world: int,
    tables: LossTables,
) -> RetrievalTask:
    """Contrastive training of the embeddings of clips."""
    features = list(config.model.inputs.features)
    return RetrievalTask(config, rank, world, lambda columns: clip_batch(columns, features), tables.information)


def _check(config: TrainConfig, manifest: Manifest) -> None:
    check_features(manifest, config.model.inputs.features)


def _rows(
    model: nn.Module, config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, places: Sequence[RowGroup]
) -> EmbeddedRows:
    return embed(model, config.model.inputs.features, manifest, vocabulary, places, config.evaluation.batch_rows)


def _queries(
    model: nn.Module, config: TrainConfig, vocabulary: Vocabulary, captions: Sequence[str]
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    inputs, max_rows = config.model.inputs, config.evaluation.batch_rows
    return embed_captions(model, inputs.features, vocabulary, captions, inputs.max_words, max_rows)


CLIP_SPACE = JointSpace(check=_check, rows=_rows, queries=_queries, arrays=encode_features, towers=clip_towers)
