"""Rows of tables with captions, embedded by a registered MUSE with an encoder of words."""

import pandas as pd

from vtr_core.nn.embeddings import TEXT
from vtr_core.retrieval.embed.frame import captions_of
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.muse.rows import embed_words


def predict(loaded: TrainedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: the column `caption` alone; out: `text`, None for a caption without a known word."""
    vectors, known = embed_words(loaded.model, loaded.config, loaded.vocabulary, captions_of(table))
    cells = [vector if told else None for vector, told in zip(vectors, known, strict=True)]
    return pd.DataFrame({TEXT: cells}, index=table.index, dtype=object)
