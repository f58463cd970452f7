"""The embeddings of a data set in a model's joint space, as its system makes them."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float32
from torch import nn

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.retrieval.embed.clips import EmbeddedRows
from vtr_core.retrieval.embed.joint_space import JointSpace
from vtr_core.run.config import TrainConfig
from vtr_core.run.models import system_of
from vtr_core.text.tokens.vocabulary import Vocabulary


def embed_rows(
    model: nn.Module, config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, places: Sequence[RowGroup]
) -> EmbeddedRows:
    """The rows in `places`, in file order, of the clips or whole videos that the model reads."""
    return _space(config).rows(model, config, manifest, vocabulary, places)


def embed_queries(
    model: nn.Module, config: TrainConfig, vocabulary: Vocabulary, captions: Sequence[str]
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    """The vector of every caption, and whether any of its words is known; where none is, the vector is 0."""
    return _space(config).queries(model, config, vocabulary, captions)


def _space(config: TrainConfig) -> JointSpace:
    found = system_of(config.model).implementation().retrieval
    assert isinstance(found, JointSpace), "commands ask before"
    return found
