"""The embeddings of a data set of the kind that a model of one joint space reads, clips or whole videos."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float32
from torch import nn

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.errors import ConfigError
from vtr_core.retrieval.embed.clips import EmbeddedRows, check_features, embed, embed_captions
from vtr_core.retrieval.embed.frames import check_frames
from vtr_core.retrieval.embed.videos import embed_videos, embed_words
from vtr_core.run.config import TrainConfig
from vtr_core.systems.muse.model import Muse
from vtr_core.systems.siamese.model import Siamese
from vtr_core.text.tokens.vocabulary import Vocabulary


def embed_rows(
    model: nn.Module, config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, places: Sequence[RowGroup]
) -> EmbeddedRows:
    """The rows in `places`: see `embed_videos` for MUSE, `embed` for the other models."""
    if isinstance(model, Muse):
        return embed_videos(model, config, manifest, vocabulary, places)
    features, max_rows = config.model.inputs.features, config.evaluation.batch_rows
    return embed(model, features, manifest, vocabulary, places, max_rows)


def embed_queries(
    model: nn.Module, config: TrainConfig, vocabulary: Vocabulary, captions: Sequence[str]
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    """The vector of every caption, and whether any of its words is known; where none is, the vector is 0."""
    inputs, max_rows = config.model.inputs, config.evaluation.batch_rows
    if isinstance(model, Muse):
        return embed_words(model, vocabulary, captions, max_rows)
    return embed_captions(model, inputs.features, vocabulary, captions, inputs.max_words, max_rows)


def check_rows(model: nn.Module, config: TrainConfig, manifest: Manifest) -> None:
    """DatasetError unless the data set has the features that the model takes; ConfigError for a model of images."""
    if isinstance(model, Siamese):
        raise ConfigError(
            "a Siamese network compares images, and retrieves nothing by text; for it there are "
            "vtr evaluate --task verification and vtr verify"
        )
    if isinstance(model, Muse):
        check_frames(manifest, model.config)
    else:
        check_features(manifest, config.model.inputs.features)
