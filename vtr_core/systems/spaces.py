"""Embedding spaces of a model, one joint space or a latent and a concept space, as all use of a model asks them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32, Int64, Num
from torch import nn

from vtr_core.config.data_sets import ConceptSimilarity
from vtr_core.config.run import EvaluationConfig, TrainConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.rankings import Direction, QuerySample
from vtr_core.embedding.video_ranking import DualQuery, DualVideos, Scoring
from vtr_core.errors import InputError, one_line
from vtr_core.systems.loaded_model import TrainedModel, lacking
from vtr_core.systems.system import System
from vtr_core.text.tokens.vocabulary import Vocabulary


@dataclass(frozen=True)
class Encoded:
    """Vectors by name: the modality in a joint space (`text`, `video`, `audio`), or the space of a dual encoder
    (`latent`, `concept`; concept scores are those before the sigmoid).

    A row that is not present, a text without a known word or a video without the feature, is exactly 0.
    `numpy.asarray` gives the matrix where there is one name alone.
    """

    vectors: Mapping[str, Float32[np.ndarray, "rows dim"]]
    present: Mapping[str, Bool[np.ndarray, " rows"]]

    def __len__(self) -> int:
        return len(next(iter(self.vectors.values())))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if len(self.vectors) != 1:
            raise InputError(f"the vectors are of {', '.join(self.vectors)}; take one of them: .vectors[name]")
        return np.array(next(iter(self.vectors.values())), dtype=dtype, copy=copy)

    @property
    def known(self) -> Bool[np.ndarray, " rows"]:
        """The rows that are present under any name."""
        return np.logical_or.reduce(list(self.present.values()))


@dataclass(frozen=True)
class ConceptTerms:
    """A model whose similarity is exactly Σ_i z_i q_i over the concepts that it names, `TrainedModel.concepts`."""

    feature: str
    """The feature that z is of."""
    clips: Callable[[Num[np.ndarray, "clips values"]], Float32[np.ndarray, "clips concepts"]]
    """z of clips, of the feature's values."""
    texts: Callable[[Float32[np.ndarray, "texts dim"]], Float32[np.ndarray, "texts concepts"]]
    """q of texts, of their vectors."""


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
    concept_terms: Callable[[TrainedModel], ConceptTerms | None] = lambda _: None
    """Returns the terms that explain a model's similarities; None for a model without named concepts."""


def embed_rows(
    model: nn.Module, config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, places: Sequence[RowGroup]
) -> EmbeddedRows:
    """The embeddings of the rows in `places`, in file order; clips or whole videos, as the model takes."""
    space = config.model.system().implementation().retrieval
    assert space is not None, "checked by the commands"
    return space.rows(model, config, manifest, vocabulary, places)


def unknown_words(text: str, loaded: TrainedModel) -> InputError:
    """The error for a query without a known word."""
    words = loaded.vocabulary.words
    return InputError(
        f"no word of the query {text!r} is among the {len(words)} that the model knows, such as "
        f"{', '.join(words[:5])}; ask in the language and the words of its training captions"
    )


def not_known(words: Sequence[str]) -> str:
    """The words of a query that the model does not know, which took no part in the search; "" for none."""
    return "not known: " + ", ".join(repr(one_line(word)) for word in words) if words else ""


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
    concept_similarity: Callable[[TrainConfig], ConceptSimilarity]
    """The similarity of concept scores."""
    scoring: Callable[[TrainedModel], Scoring]
    """The policy of the model's scores, the same wherever they are made."""
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
    compare: Callable[[TrainedModel, Encoded, Encoded], Float32[np.ndarray, "queries items"]]
    """The scores by which the model is evaluated: hybrid where it has both spaces. Texts or videos are the queries."""


def known_queries(spaces: DualSpaces, loaded: TrainedModel, texts: Sequence[str]) -> list[DualQuery]:
    """The embedded queries; InputError for a text without a known word."""
    queries = spaces.queries(loaded, texts)
    for text, query in zip(texts, queries, strict=True):
        if query is None:
            raise unknown_words(text, loaded)
    return [query for query in queries if query is not None]


def spaces_of(loaded: TrainedModel, use: str) -> JointSpace | DualSpaces:
    """The embedding functions of the model; ConfigError, naming `use` as what needs it, for a model without."""
    spaces = _spaces(loaded.config.model.system())
    if spaces is None:
        raise lacking(loaded, use, lambda system: _spaces(system) is not None)
    return spaces


def clip_space_of(loaded: TrainedModel, use: str) -> JointSpace:
    """The joint space of a model of clips; ConfigError for other models."""
    space = _clip_space(loaded.config.model.system())
    if space is None:
        raise lacking(loaded, use, lambda system: _clip_space(system) is not None)
    return space


def dual_spaces_of(loaded: TrainedModel, use: str) -> DualSpaces:
    """The latent and concept space of a dual encoder; ConfigError for other models."""
    spaces = _spaces(loaded.config.model.system())
    if not isinstance(spaces, DualSpaces):
        raise lacking(loaded, use, lambda system: isinstance(_spaces(system), DualSpaces))
    return spaces


def _spaces(system: System) -> JointSpace | DualSpaces | None:
    return system.implementation().retrieval


def _clip_space(system: System) -> JointSpace | None:
    space = _spaces(system)
    return space if isinstance(space, JointSpace) and system.reads == "clips" else None
