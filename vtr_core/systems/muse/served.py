"""Captions in a table's rows, embedded by a registered MUSE with a text encoder of words."""

import pandas as pd

from vtr_core.nn.embeddings import TEXT
from vtr_core.retrieval.embed.frame import captions_of
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.muse.rows import embed_words


def predict(loaded: TrainedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: only the column `caption`; out: `text`, None for a caption without an in-vocabulary word."""
    vectors, known = embed_words(loaded.model, loaded.config, loaded.vocabulary, captions_of(table))
    cells = [vector if told else None for vector, told in zip(vectors, known, strict=True)]
    return pd.DataFrame({TEXT: cells}, index=table.index, dtype=object)
