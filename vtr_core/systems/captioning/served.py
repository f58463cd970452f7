"""Rows of tables with videos, described by a registered captioner."""

import pandas as pd

from vtr_core.retrieval.embed.frame import CAPTION
from vtr_core.retrieval.embed.frame_sequences import frames_of
from vtr_core.systems.captioning.evaluation import caption_frames
from vtr_core.systems.captioning.model import Captioner
from vtr_core.systems.loaded_model import TrainedModel


def predict(loaded: TrainedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: the column of the model's feature, of each video a list of its frames' vectors; out: `caption`.

    None for a video without frames.
    """
    assert isinstance(loaded.model, Captioner)
    feature = loaded.model.config.feature
    dim = loaded.config.model.inputs.features[feature]
    videos = frames_of(table, feature, dim, loaded.config.batch.max_frames)
    texts = caption_frames(loaded.model, loaded.config, loaded.vocabulary, videos)
    return pd.DataFrame({CAPTION: texts}, index=table.index, dtype=object)
