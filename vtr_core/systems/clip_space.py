"""Models of clips in one joint space: how they are trained, embed and are served."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float32
from torch import nn

from vtr_core.config.run import ModelConfig, TrainConfig
from vtr_core.data.batches import clip_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.embedding.data_frames import columns_of, embeddings_frame
from vtr_core.embedding.embedded_rows import EmbeddedRows, check_features, embed, embed_captions, embed_columns
from vtr_core.systems.implementation import LossTables
from vtr_core.systems.joint_space import RetrievalTask
from vtr_core.systems.loaded_model import Column, Signature, TrainedModel
from vtr_core.systems.spaces import Encoded, JointSpace
from vtr_core.text.tokens.vocabulary import Vocabulary


def signature(model: ModelConfig) -> Signature:
    """The signature: a text and a vector per feature in, each of them optional; vectors in the joint space out."""
    features = model.inputs.features
    vectors = {name: [np.linspace(-1, 1, dim).round(3).tolist()] for name, dim in features.items()}
    return Signature(
        description="Embeds captions and clips in one space. Input: `caption`, a column of vectors for each of some "
        "features, or both; output: a column of vectors for each.",
        example_input='{"caption": ["a man cooks rice"]}',
        example_output="text",
        inputs=(
            Column("caption", "text", required=False),
            *(Column(name, "doubles", required=False) for name in features),
        ),
        outputs=tuple(Column(name, "floats", required=False) for name in ("text", *features)),
        example_row={"caption": ["a person cooks rice"], **vectors},
    )


def predict(loaded: TrainedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: a column `caption`, columns of feature vectors, or both; out: `text` and the features.

    An input None is a missing modality; an output is None for a missing modality or a caption without an in-vocabulary
    word, else a float32 array (embedding_dim,). Raises InputError for other columns or values.
    """
    return embeddings_frame(embed_table(loaded, table), table)


def embed_table(loaded: TrainedModel, table: pd.DataFrame) -> EmbeddedRows:
    """The embeddings of a table's rows; see `predict`."""
    features, max_words = loaded.config.model.inputs.features, loaded.config.model.inputs.max_words
    columns, most = columns_of(table, features, loaded.vocabulary, max_words), loaded.config.evaluation.batch_rows
    starts = range(0, max(1, len(table)), most)  # a single empty piece if there are no rows
    pieces = [{name: array[first : first + most] for name, array in columns.items()} for first in starts]
    return embed_columns(loaded.model, features, pieces)


def encode_features(loaded: TrainedModel, clips: Mapping[str, Sequence[Any]]) -> Encoded:
    """Clips given as feature vectors (dim,), or None, by feature; the vectors are those of evaluation."""
    table = pd.DataFrame({name: pd.Series(list(values), dtype=object) for name, values in clips.items()})
    rows = embed_table(loaded, table)
    held = {name: np.where(rows.present[name][:, None], rows.vectors[name], 0) for name in clips}
    return Encoded(held, {name: rows.present[name] for name in clips})


def clip_task(
    config: TrainConfig,
    rank: int,
    world: int,
    tables: LossTables,  # noqa: ARG001  all systems' are called alike
) -> RetrievalTask:
    """Contrastive training of the embeddings of clips."""
    features = list(config.model.inputs.features)
    return RetrievalTask(config, rank, world, lambda columns: clip_batch(columns, features))


def _rows(
    model: nn.Module, config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, places: Sequence[RowGroup]
) -> EmbeddedRows:
    return embed(model, config.model.inputs.features, manifest, vocabulary, places, config.evaluation.batch_rows)


def _queries(
    model: nn.Module, config: TrainConfig, vocabulary: Vocabulary, captions: Sequence[str]
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    inputs, max_rows = config.model.inputs, config.evaluation.batch_rows
    return embed_captions(model, inputs.features, vocabulary, captions, inputs.max_words, max_rows)


CLIP_SPACE = JointSpace(
    check=lambda config, manifest: check_features(manifest, config.model.inputs.features),
    rows=_rows,
    queries=_queries,
    arrays=encode_features,
)
