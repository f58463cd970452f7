"""Captions and feature vectors in a table's rows, embedded by a registered model of clips."""

import pandas as pd

from vtr_core.data.stream.assemble import Columns
from vtr_core.retrieval.embed.clips import embed_columns
from vtr_core.retrieval.embed.frame import columns_of, embeddings_frame
from vtr_core.systems.loaded_model import TrainedModel


def predict(loaded: TrainedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: a column `caption`, columns of feature vectors, or both; out: `text` and the features.

    An input None is a missing modality; an output is None for a missing modality or a caption without an in-vocabulary
    word, else a float32 array (embedding_dim,). Raises InputError for other columns or values.
    """
    features, max_words = loaded.config.model.inputs.features, loaded.config.model.inputs.max_words
    columns = columns_of(table, features, loaded.vocabulary, max_words)
    chunks = _pieces(columns, loaded.config.evaluation.batch_rows)
    return embeddings_frame(embed_columns(loaded.model, features, chunks), table)


def _pieces(columns: Columns, max_rows: int) -> list[Columns]:
    """Pieces of at most `max_rows` rows; a single empty one if there are no rows."""
    starts = range(0, max(1, len(columns["tokens"])), max_rows)
    return [{name: array[first : first + max_rows] for name, array in columns.items()} for first in starts]
