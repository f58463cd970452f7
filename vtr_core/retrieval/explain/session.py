"""Explanations on request, with caches of embedded queries and of transformed concept scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
from torch import Tensor

from vtr_core.analysis.transforms import Transform
from vtr_core.errors import InputError
from vtr_core.retrieval.explain.hits import percent
from vtr_core.retrieval.explain.queries import LONGEST_QUERY
from vtr_core.retrieval.explain.report import answer, explainable
from vtr_core.retrieval.explain.tag_cloud import Tag, sized
from vtr_core.retrieval.explain.values import Answer, ExplainOptions, HitExplanation
from vtr_core.retrieval.search.search import DualQuery, DualVideos, PreparedSearch, Scoring, latent_scores

NUM_QUERIES, NUM_TRANSFORMS = 256, 4


@dataclass(frozen=True)
class _Asked:
    """A query, its scores in latent space, and the positions of the videos with this caption."""

    query: DualQuery
    latent: Tensor | None
    right: tuple[int, ...]


class ExplainSession:
    """Answers queries over one set of videos; thread-safe, with one embedding at a time.

    embed: from a text to a query; raises a VtrError where it cannot. captions: positions of the videos with a given
    caption.
    """

    def __init__(
        self,
        videos: DualVideos,
        scoring: Scoring,
        embed: Callable[[str], DualQuery],
        captions: Mapping[str, Sequence[int]],
        options: ExplainOptions,
    ) -> None:
        self.videos, self._scoring, self._options = videos, scoring, options
        self._embed, self._captions = embed, captions
        self._asked = lru_cache(NUM_QUERIES)(self._ask)
        self._prepared = lru_cache(NUM_TRANSFORMS)(self._prepare)
        self._one_at_a_time = Lock()

    def search(self, text: str, scale: float, shift: float, power: float) -> dict[str, Any]:
        """The answer under a transform, as the page's JSON. Raises VtrError for an invalid query or transform."""
        text = text.strip()
        if not text:
            raise InputError("the query is empty; say what the video shows")
        if len(text) > LONGEST_QUERY:
            raise InputError(f"the query has {len(text)} characters; {LONGEST_QUERY} are allowed")
        transform = Transform(self._scoring.transform.similarity, scale, shift, power)
        with self._one_at_a_time:
            system, asked = self._prepared(transform), self._asked(text)
        return answer_json(text, answer(system, asked.query, asked.right, self._options, asked.latent))

    def _ask(self, text: str) -> _Asked:
        query = self._embed(text)
        return _Asked(query, latent_scores(self.videos, query), tuple(self._captions.get(text, ())))

    def _prepare(self, transform: Transform) -> PreparedSearch:
        return explainable(self.videos, replace(self._scoring, transform=transform))


def answer_json(text: str, found: Answer) -> dict[str, Any]:
    """An answer with the sizes of its tags as JSON. Causality is the mean and standard deviation over the hits."""
    few = np.array([hit.causality_few for hit in found.hits])
    many = np.array([hit.causality_many for hit in found.hits])
    return {
        "query": text,
        "right_rank": found.right_rank,
        "causality_few": percent(float(few.mean())),
        "causality_few_std": percent(float(few.std())),
        "causality_many": percent(float(many.mean())),
        "causality_many_std": percent(float(many.std())),
        "hits": [_hit_json(hit) for hit in found.hits],
    }


def _hit_json(hit: HitExplanation) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "video_id": hit.video_id,
        "right": hit.right,
        "score": hit.score,
        "latent": hit.latent,
        "concept": hit.concept,
        "causality_few": percent(hit.causality_few),
        "causality_many": percent(hit.causality_many),
        "video": sized_tags(hit.video),
        "query": sized_tags(hit.query),
        "contributions": sized_tags(hit.contributions),
        "shared": sized_tags(hit.shared),
    }


def sized_tags(tags: Sequence[Tag]) -> list[dict[str, Any]]:
    """The tags of a cloud with their sizes, as JSON."""
    return [{**asdict(one.tag), "text": one.text, "size": one.size} for one in sized(tags)]
