"""Rows of tables with captions and feature vectors, embedded by a registered model of clips."""

import pandas as pd

from vtr_core.data.stream.assemble import Columns
from vtr_core.retrieval.embed.clips import embed_columns
from vtr_core.retrieval.embed.frame import columns_of, embeddings_frame
from vtr_core.systems.loaded_model import TrainedModel


def predict(loaded: TrainedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: a column `caption`, or a column of vectors for each of some features, or both; out: `text` and the features.

    None is where a row lacks one, and comes out where it lacks it or knows no word; other values are float32 arrays
    (embedding_dim,). Raises InputError for other columns or values.
    """
    features, max_words = loaded.config.model.inputs.features, loaded.config.model.inputs.max_words
    columns = columns_of(table, features, loaded.vocabulary, max_words)
    chunks = _pieces(columns, loaded.config.evaluation.batch_rows)
    return embeddings_frame(embed_columns(loaded.model, features, chunks), table)


def _pieces(columns: Columns, max_rows: int) -> list[Columns]:
    """Pieces of at most `max_rows` rows; one, empty, of no rows."""
    starts = range(0, max(1, len(columns["tokens"])), max_rows)
    return [{name: array[first : first + max_rows] for name, array in columns.items()} for first in starts]
