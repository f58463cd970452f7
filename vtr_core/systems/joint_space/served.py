"""Captions and feature vectors in a table's rows, embedded by a registered model of clips."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from vtr_core.data.stream.assemble import Columns
from vtr_core.retrieval.embed.clips import EmbeddedRows, embed_columns
from vtr_core.retrieval.embed.encoded import Encoded
from vtr_core.retrieval.embed.frame import columns_of, embeddings_frame
from vtr_core.systems.loaded_model import TrainedModel


def predict(loaded: TrainedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: a column `caption`, columns of feature vectors, or both; out: `text` and the features.

    An input None is a missing modality; an output is None for a missing modality or a caption without an in-vocabulary
    word, else a float32 array (embedding_dim,). Raises InputError for other columns or values.
    """
    return embeddings_frame(embed_table(loaded, table), table)


def embed_table(loaded: TrainedModel, table: pd.DataFrame) -> EmbeddedRows:
    """The embeddings of a table's rows; see `predict`."""
    features, max_words = loaded.config.model.inputs.features, loaded.config.model.inputs.max_words
    columns = columns_of(table, features, loaded.vocabulary, max_words)
    return embed_columns(loaded.model, features, _pieces(columns, loaded.config.evaluation.batch_rows))


def encode_features(loaded: TrainedModel, clips: Mapping[str, Sequence[Any]]) -> Encoded:
    """Clips given as feature vectors (dim,), or None, by feature; the vectors are those of evaluation."""
    table = pd.DataFrame({name: pd.Series(list(values), dtype=object) for name, values in clips.items()})
    rows = embed_table(loaded, table)
    held = {name: np.where(rows.present[name][:, None], rows.vectors[name], 0) for name in clips}
    return Encoded(held, {name: rows.present[name] for name in clips})


def _pieces(columns: Columns, max_rows: int) -> list[Columns]:
    """Pieces of at most `max_rows` rows; a single empty one if there are no rows."""
    starts = range(0, max(1, len(columns["tokens"])), max_rows)
    return [{name: array[first : first + max_rows] for name, array in columns.items()} for first in starts]
