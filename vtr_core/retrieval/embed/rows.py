"""The embeddings of a data set in a model's joint space, or its spaces, by its system's functions."""

from collections.abc import Sequence

from torch import nn

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.retrieval.embed.clips import EmbeddedRows
from vtr_core.run.config import TrainConfig
from vtr_core.run.models import system_of
from vtr_core.text.tokens.vocabulary import Vocabulary


def embed_rows(
    model: nn.Module, config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, places: Sequence[RowGroup]
) -> EmbeddedRows:
    """The embeddings of the rows in `places`, in file order; clips or whole videos, as the model takes."""
    space = system_of(config.model).implementation().retrieval
    assert space is not None, "checked by the commands"
    return space.rows(model, config, manifest, vocabulary, places)
