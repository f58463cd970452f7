"""Search of an index of a dual encoder, whose scores are scaled over all items: it has one shard."""

from collections.abc import Sequence
from typing import assert_never

import numpy as np
from jaxtyping import Int64

from vtr_core.analysis.transforms import Transform
from vtr_core.contributions import contributions
from vtr_core.errors import ConfigError
from vtr_core.retrieval.explain.hits import explain_hits, percent, strongest
from vtr_core.retrieval.explain.tag_cloud import Tag
from vtr_core.retrieval.explain.values import HitExplanation
from vtr_core.retrieval.index.candidates import candidates_of
from vtr_core.retrieval.index.index import VideoIndex
from vtr_core.retrieval.index.items import VideoIds
from vtr_core.retrieval.search.dual_spaces import DualSpaces
from vtr_core.retrieval.search.hit import Hit, hit_of
from vtr_core.retrieval.search.search import (
    DualQuery,
    DualVideos,
    PreparedSearch,
    Scoring,
    VideoScores,
    as_tensor,
    best,
    prepare,
    ranked,
)
from vtr_core.retrieval.search.searcher import NUM_TAGS, Searcher, SearchOptions
from vtr_core.systems.loaded_model import TrainedModel


class DualSearcher(Searcher):
    """Searches candidates from latent space by the hybrid score, or one of the spaces alone."""

    def __init__(self, index: VideoIndex, loaded: TrainedModel, spaces: DualSpaces, options: SearchOptions) -> None:
        kind = spaces.concept_similarity(loaded.config)
        (shard,) = index.shards
        latent, concept = (as_tensor(shard.tensors.get(name)) for name in ("latent", "concept"))
        videos = DualVideos(VideoIds(index.items), latent, concept, index.concepts, kind)
        weight = index.record.latent_weight if options.latent_weight is None else options.latent_weight
        space = options.space or videos.default_space
        if space == "latent" and options.transform is not None:
            raise ConfigError("--transform changes concepts, which --space latent does not use")
        scoring = Scoring(
            space=space,
            transform=options.transform or Transform(kind),
            latent_weight=weight,
            normalise=options.normalise,
            ranges=spaces.ranges(loaded),
            candidates=options.num_candidates(index.record.backend) if space == "hybrid" else None,
        )
        self._loaded, self._spaces, self._index = loaded, spaces, index
        self.vocabulary = loaded.vocabulary
        self._prepared = prepare(videos, scoring)
        self._candidates = candidates_of(shard, "latent")
        self.description = _described(
            scoring, len(index.items), None if self._candidates is None else index.record.backend
        )

    def search(
        self, texts: Sequence[str], k: int, among: Int64[np.ndarray, " chosen"] | None = None
    ) -> list[tuple[Hit, ...] | None]:
        """See `Searcher`."""
        queries = self._spaces.queries(self._loaded, texts)
        return [None if query is None else self._hits(query, k, among) for query in queries]

    def why(self, text: str, position: int, num_tags: int) -> HitExplanation | None:
        """See `Searcher`."""
        prepared, scoring = self._prepared, self._prepared.scoring
        (query,) = self._spaces.queries(self._loaded, [text])
        if query is None or query.concept is None or prepared.compared is None or not scoring.concept_weight:
            return None
        (found,) = explain_hits(
            np.array([position]),
            prepared.score(query),
            prepared.compared[[position]],
            scoring.transform.apply(query.concept),
            scoring,
            concepts=prepared.videos.concepts,
            video_ids=prepared.videos.video_id,
            right=(),
            num_tags=num_tags,
        )
        return found

    def _chosen(
        self, query: DualQuery, scores: VideoScores, k: int, among: Int64[np.ndarray, " chosen"] | None
    ) -> Int64[np.ndarray, " candidates"] | None:
        """The items to rank, at least k; candidates ignore `among`, for which all of latent space is compared."""
        given = self._prepared.scoring.candidates
        count = None if given is None else max(given, k)
        if among is None:
            if self._candidates is None or count is None or query.latent is None:
                return None
            return self._candidates.find(query.latent.numpy()[None], count)[0]
        if count is None or scores.latent is None:
            return among
        return among[best(scores.latent.numpy()[among], count)]

    def _hits(self, query: DualQuery, k: int, among: Int64[np.ndarray, " chosen"] | None) -> tuple[Hit, ...]:
        scoring = self._prepared.scoring
        scores = self._prepared.score(query)
        positions = ranked(scores, scoring, k, self._chosen(query, scores, k, among)).tolist()
        items = self._index.items.at(positions)
        return tuple(
            hit_of(
                rank,
                item,
                float(scores.total[position]),
                latent=None if scores.latent is None else float(scores.latent[position]),
                concept=None if scores.concept is None else float(scores.concept[position]),
                tags=contributing_tags(self._prepared, query, position, NUM_TAGS),
            )
            for rank, (position, item) in enumerate(zip(positions, items, strict=True), start=1)
        )


def contributing_tags(prepared: PreparedSearch, query: DualQuery, position: int, count: int) -> tuple[Tag, ...]:
    """The concepts that contribute most to the score of a video, with their shares of the total score."""
    scoring = prepared.scoring
    if prepared.compared is None or query.concept is None or not scoring.concept_weight:
        return ()
    asked = scoring.transform.apply(query.concept)[None]
    shares = contributions(prepared.compared[position][None], asked, scoring.transform.similarity)[0]
    shares = scoring.concept_weight * shares
    names = prepared.videos.concepts
    return tuple(Tag(names[i], float(shares[i]), percent(float(shares[i]))) for i in strongest(shares, count))


def _described(scoring: Scoring, num_items: int, found_by: str | None) -> str:
    match scoring.space:
        case "hybrid":
            candidates = min(scoring.candidates or num_items, num_items)
            origin = f"{candidates} candidates from latent space" + ("" if found_by is None else f" ({found_by})")
            weights = f"{scoring.latent_weight:g} latent + {1 - scoring.latent_weight:g} concept"
            return f"{weights}, scaled by the {_SCALES[scoring.normalise]}; {origin} of {num_items}"
        case "latent":
            return f"latent space alone, all {num_items}"
        case "concept":
            return f"concept space alone, all {num_items}"
        case _:
            assert_never(scoring.space)


_SCALES = {"query": "scores of each query", "train": "training scores"}
