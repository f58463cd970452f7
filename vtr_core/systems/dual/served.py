"""Rows of tables with captions, embedded by a registered dual encoder."""

import pandas as pd

from vtr_core.retrieval.embed.frame import captions_of, dual_frame
from vtr_core.systems.dual.rows import embed_dual_captions
from vtr_core.train.checkpoint.load import LoadedModel


def predict(loaded: LoadedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: the column `caption` alone; out: `latent` and `concepts`, as far as the model has these spaces.

    `concepts` are the probabilities of each concept in the order of the checkpoint's concepts.json.
    """
    return dual_frame(embed_dual_captions(loaded, captions_of(table)), table)
