"""Interface of systems with a latent space, a concept space, or both, for evaluation, index, search, explanation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64
from torch import Tensor, nn

from vtr_core.config.concept_similarity import ConceptSimilarity
from vtr_core.config.evaluation import EvaluationConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.retrieval.embed.clips import EmbeddedRows
from vtr_core.retrieval.embed.encoded import Encoded
from vtr_core.retrieval.evaluate.retrieval import Direction, QuerySample
from vtr_core.retrieval.search.queries import unknown_words
from vtr_core.retrieval.search.search import DualQuery, DualVideos
from vtr_core.run.config import TrainConfig
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.text.tokens.vocabulary import Vocabulary


@dataclass(frozen=True)
class EmbeddedVideos:
    """The embedded videos with frames of a data set, and their captions."""

    videos: DualVideos
    captions: tuple[str, ...]
    caption_video: tuple[int, ...]
    """The position of each caption's video."""


@dataclass(frozen=True)
class SpaceFigures:
    """The metrics of both directions under one score; the first of an evaluation is under the model's own score."""

    space: str
    """hybrid, latent or concept."""
    directions: list[Direction]
    queries: str = "all"
    """`all`, or the name of the subset of captions that is evaluated with its videos."""


@dataclass(frozen=True)
class QuerySubset:
    """A subset of a data set's captions, evaluated separately against their videos only."""

    name: str
    caption_keys: Int64[np.ndarray, " captions"]
    """Keys of the captions; may include captions of other data sets."""


@dataclass(frozen=True)
class DualSpaces:
    """Functions of a system, given a run's configuration or a trained model."""

    check: Callable[[TrainConfig, Manifest], None]
    """Raises DatasetError unless the data set has the model's features."""
    has_latent: Callable[[TrainConfig], bool]
    """Whether the model has a latent space."""
    concept_similarity: Callable[[TrainConfig], ConceptSimilarity]
    """The similarity of concept scores."""
    ranges: Callable[[TrainedModel], Float32[Tensor, "2 2"]]
    """The score ranges of training batches: rows latent and concept, columns lowest and highest."""
    rows: Callable[[nn.Module, TrainConfig, Manifest, Vocabulary, Sequence[RowGroup]], EmbeddedRows]
    """The videos and captions of some row groups by space, in file order, for storage; the model's mode is restored."""
    videos: Callable[[TrainedModel, Manifest, EmbeddedRows | None], EmbeddedVideos]
    """The embedded videos of a data set, from its stored `rows` where given; DatasetError where none has frames."""
    queries: Callable[[TrainedModel, Sequence[str]], list[DualQuery | None]]
    """The embedded texts; None for a text without a known word."""
    figures: Callable[
        [TrainedModel, Manifest, EvaluationConfig, QuerySubset | None, EmbeddedRows | None, QuerySample | None],
        list[SpaceFigures],
    ]
    """Retrieval metrics on a data set, from its stored `rows` where given, then on a given subset of its captions,
    both of all queries or of a sample of them;
    DatasetError where there are no queries or no items."""
    texts: Callable[[TrainedModel, Sequence[str]], Encoded]
    """The encoded texts, in each space; those without a known word are not present."""
    arrays: Callable[[TrainedModel, Mapping[str, Sequence[Any]]], Encoded]
    """The encoded videos, in each space, of features by name: (frames, dim) or None for each; InputError for others."""
    compare: Callable[[TrainedModel, Encoded, Encoded], Float32[np.ndarray, "texts videos"]]
    """The scores of texts and videos by which the model is evaluated: hybrid where it has both spaces."""


def known_queries(spaces: DualSpaces, loaded: TrainedModel, texts: Sequence[str]) -> list[DualQuery]:
    """The embedded queries; InputError for a text without a known word."""
    found = spaces.queries(loaded, texts)
    for text, query in zip(texts, found, strict=True):
        if query is None:
            raise unknown_words(text, loaded)
    return [query for query in found if query is not None]
