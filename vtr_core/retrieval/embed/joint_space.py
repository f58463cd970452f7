"""Interface of systems with one joint space, for evaluation, index and search."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32, Num
from torch import Tensor, nn

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.retrieval.embed.clips import EmbeddedRows
from vtr_core.retrieval.embed.encoded import Encoded
from vtr_core.run.config import TrainConfig
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.text.tokens.vocabulary import Vocabulary


@dataclass(frozen=True)
class ConceptTerms:
    """A model whose similarity is exactly Σ_i z_i q_i over the concepts that it names, `TrainedModel.concepts`."""

    feature: str
    """The feature that z is of."""
    clips: Callable[[Num[np.ndarray, "clips values"]], Float32[np.ndarray, "clips concepts"]]
    """z of clips, of the feature's values."""
    texts: Callable[[Float32[np.ndarray, "texts dim"]], Float32[np.ndarray, "texts concepts"]]
    """q of texts, of their vectors."""


def _no_terms(_: TrainedModel) -> ConceptTerms | None:
    return None


@dataclass(frozen=True)
class JointSpace:
    """Functions that embed captions and videos, given a model, its run's configuration and its training vocabulary."""

    check: Callable[[TrainConfig, Manifest], None]
    """Raises DatasetError unless the data set has the model's features."""
    rows: Callable[[nn.Module, TrainConfig, Manifest, Vocabulary, Sequence[RowGroup]], EmbeddedRows]
    """Returns the embeddings of some row groups, in file order, on the model's device; the model's mode is restored."""
    queries: Callable[
        [nn.Module, TrainConfig, Vocabulary, Sequence[str]],
        tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]],
    ]
    """Returns the vector of every caption, and whether it has a known word; without one the vector is 0."""
    arrays: Callable[[TrainedModel, Mapping[str, Sequence[Any]]], Encoded] | None = None
    """Returns the vectors, by modality, of features given by name: an array or None for each clip or video; InputError
    for arrays of another shape. None: the system's models encode stored data sets alone.
    """
    towers: Callable[[TrainedModel], Mapping[str, tuple[nn.Module, Tensor]]] | None = None
    """Returns a network from a matrix to vectors for each modality, with an example of its input, for ONNX; None where
    the models have none.
    """
    concept_terms: Callable[[TrainedModel], ConceptTerms | None] = _no_terms
    """Returns the terms that explain a model's similarities; None for a model without named concepts."""
