"""How captions and videos are embedded in a latent space, a concept space, or both: what a system gives the stages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64
from torch import Tensor

from vtr_core.config.concept_similarity import ConceptSimilarity
from vtr_core.config.evaluation import EvaluationConfig
from vtr_core.data.manifest import Manifest
from vtr_core.retrieval.evaluate.retrieval import Direction
from vtr_core.retrieval.search.queries import unknown_words
from vtr_core.retrieval.search.search import DualQuery, DualVideos
from vtr_core.run.config import TrainConfig
from vtr_core.systems.loaded_model import TrainedModel


@dataclass(frozen=True)
class EmbeddedVideos:
    """The videos of a data set that have frames, with their captions."""

    videos: DualVideos
    captions: tuple[str, ...]
    caption_video: tuple[int, ...]
    """The position of each caption's video."""


@dataclass(frozen=True)
class SpaceFigures:
    """The figures of both directions by one score; the first one of an evaluation is the model's own."""

    space: str
    """hybrid, latent or concept."""
    directions: list[Direction]
    queries: str = "all"
    """`all`, or what the captions have in common that are compared, with their videos."""


@dataclass(frozen=True)
class QuerySubset:
    """Some captions of a data set, which are also evaluated by themselves against their videos alone."""

    name: str
    caption_keys: Int64[np.ndarray, " captions"]
    """Captions of other data sets may be among them."""


@dataclass(frozen=True)
class DualSpaces:
    """Functions of a run's configuration, or of a trained model."""

    check: Callable[[TrainConfig, Manifest], None]
    """DatasetError unless the data set has the features that the model takes."""
    has_latent: Callable[[TrainConfig], bool]
    """Whether there is a latent space."""
    concept_similarity: Callable[[TrainConfig], ConceptSimilarity]
    """How concepts are compared."""
    ranges: Callable[[TrainedModel], Float32[Tensor, "2 2"]]
    """The score ranges of training batches: rows latent and concept, columns lowest and highest."""
    videos: Callable[[TrainedModel, Manifest], EmbeddedVideos]
    """A data set's videos; DatasetError where none has frames."""
    queries: Callable[[TrainedModel, Sequence[str]], list[DualQuery | None]]
    """Texts; None for one without a word that the model knows."""
    figures: Callable[[TrainedModel, Manifest, EvaluationConfig, QuerySubset | None], list[SpaceFigures]]
    """Retrieval metrics on a data set, then on a given subset of its captions; DatasetError where there is nothing
    to find."""


def known_queries(spaces: DualSpaces, loaded: TrainedModel, texts: Sequence[str]) -> list[DualQuery]:
    """Queries in the model's spaces; InputError for one without a word that the model knows."""
    found = spaces.queries(loaded, texts)
    for text, query in zip(texts, found, strict=True):
        if query is None:
            raise unknown_words(text, loaded)
    return [query for query in found if query is not None]
