"""Rows of tables with captions, embedded by a registered MUSE with an encoder of words."""

import pandas as pd

from vtr_core.nn.embeddings import TEXT
from vtr_core.retrieval.embed.frame import captions_of
from vtr_core.retrieval.embed.videos import embed_words
from vtr_core.systems.muse.model import Muse
from vtr_core.train.checkpoint.load import LoadedModel


def predict(loaded: LoadedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: the column `caption` alone; out: `text`, None for a caption without a known word."""
    assert isinstance(loaded.model, Muse)
    captions, rows = captions_of(table), loaded.config.evaluation.batch_rows
    vectors, known = embed_words(loaded.model, loaded.vocabulary, captions, rows)
    cells = [vector if told else None for vector, told in zip(vectors, known, strict=True)]
    return pd.DataFrame({TEXT: cells}, index=table.index, dtype=object)
