"""Captions in a table's rows, embedded by a registered dual encoder."""

import pandas as pd
import torch

from vtr_core.retrieval.embed.frame import captions_of
from vtr_core.systems.dual.rows import DualCaptions, embed_dual_captions
from vtr_core.systems.loaded_model import TrainedModel


def predict(loaded: TrainedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: only the column `caption`; out: `latent` and `concepts`, for the spaces that the model has.

    `concepts` are the probabilities of each concept in the order of the checkpoint's concepts.json.
    """
    return _spaces_frame(embed_dual_captions(loaded, captions_of(table)), table)


def _spaces_frame(found: DualCaptions, frame: pd.DataFrame) -> pd.DataFrame:
    """Columns `latent` and `concepts` (probabilities), for the spaces that the model has, with the index of `frame`."""
    probabilities = None if found.concept is None else torch.sigmoid(torch.from_numpy(found.concept)).numpy()
    spaces = {"latent": found.latent, "concepts": probabilities}
    cells = {
        name: [vector if known else None for vector, known in zip(values, found.present, strict=True)]
        for name, values in spaces.items()
        if values is not None
    }
    return pd.DataFrame(cells, index=frame.index, dtype=object)
