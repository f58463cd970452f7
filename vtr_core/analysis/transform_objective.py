"""Objective of a transform on a data set: accuracy and causality, computed in milliseconds without the model."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from vtr_core.analysis.causality import causality_at_k
from vtr_core.analysis.concept_space import ConceptSpace, concept_similarity
from vtr_core.analysis.matched_ranking import MatchedRanking, QueryPrecisions
from vtr_core.analysis.transforms import Transform
from vtr_core.metrics.bootstrap import PairedBootstrap
from vtr_core.similarity import hybrid

SEARCHED_K = 10
"""Number of tags that a person takes in at once."""


@dataclass(frozen=True)
class Measured:
    """A transform with mean(mAP text->video, mAP video->text) and C@k over the matched pairs, both in [0, 1]."""

    transform: Transform
    accuracy: float
    causality: float
    gain_low: float = 0.0
    """Lower end of the 95 % interval of the accuracy minus that of the identity, by a paired bootstrap over videos."""


@dataclass(frozen=True)
class LatentPart:
    """The latent space's part of a hybrid score: its scores and their weight α."""

    scores: Float[Tensor, "captions videos"]
    weight: float


class TransformObjective:
    """Transform → `Measured` on one data set, with concept scores alone or in a hybrid with fixed latent scores.

    latent: None ranks by the concept space alone and counts causality in full; otherwise both spaces are min-max scaled
    over the whole matrix and causality is weighted by 1 − α. seed: of the bootstrap's resamples.
    """

    def __init__(
        self, space: ConceptSpace, k: int = SEARCHED_K, latent: LatentPart | None = None, seed: int = 0
    ) -> None:
        self._space, self._k, self._latent = space, k, latent
        self._ranking = MatchedRanking(space.caption_video, len(space.video))
        self._trained = self._ranking.shares(self._precisions(*self._transformed(space.identity)))
        self._bootstrap = PairedBootstrap(len(self._trained), seed)
        self._known: dict[Transform, Measured] = {}

    @property
    def identity(self) -> Transform:
        """Scores as the model was trained."""
        return self._space.identity

    @property
    def measured(self) -> tuple[Measured, ...]:
        """All transforms measured so far, each once, in order."""
        return tuple(self._known.values())

    def __call__(self, transform: Transform) -> Measured:
        """Measure a transform; results are cached."""
        if transform not in self._known:
            self._known[transform] = self._measure(transform)
        return self._known[transform]

    def _measure(self, transform: Transform) -> Measured:
        space, latent = self._space, self._latent
        text, video = self._transformed(transform)
        found = self._precisions(text, video)
        weight = 1.0 if latent is None else 1 - latent.weight
        causality = causality_at_k(video[space.caption_video], text, self._k, space.similarity, weight)
        low = self._bootstrap.lower(self._ranking.shares(found) - self._trained)
        return Measured(transform, found.directional.mean, causality.mean, low)

    def _transformed(self, transform: Transform) -> tuple[Tensor, Tensor]:
        return transform.apply(self._space.text), transform.apply(self._space.video)

    def _precisions(self, text: Tensor, video: Tensor) -> QueryPrecisions:
        space, latent = self._space, self._latent
        scores = concept_similarity(text, video, space.similarity)
        if latent is not None:
            scores = hybrid(latent.scores, scores, latent.weight, "matrix")
        return self._ranking.by_query(scores)
