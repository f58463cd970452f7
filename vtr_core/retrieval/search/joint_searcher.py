"""Search of an index of a model with one joint space: the best of every shard, and of these the best."""

from collections.abc import Sequence
from typing import get_args

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from vtr_core.analysis.transforms import Transform
from vtr_core.contributions import raising
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.retrieval.embed.joint_space import JointSpace
from vtr_core.retrieval.explain.hits import explain_hits, percent, strongest
from vtr_core.retrieval.explain.tag_cloud import Tag
from vtr_core.retrieval.explain.values import HitExplanation
from vtr_core.retrieval.index.candidates import Candidates, candidates_of
from vtr_core.retrieval.index.index import Shard, VideoIndex, modalities
from vtr_core.retrieval.index.record import CONCEPTS
from vtr_core.retrieval.search.hit import Hit, hit_of
from vtr_core.retrieval.search.joint import JointItems
from vtr_core.retrieval.search.nearest import Nearest, best_of, nearest
from vtr_core.retrieval.search.search import Scoring, VideoScores
from vtr_core.retrieval.search.searcher import NUM_TAGS, Searcher, SearchOptions
from vtr_core.similarity import SimilarityKind
from vtr_core.systems.loaded_model import TrainedModel


class JointSearcher(Searcher):
    """Searches one joint space by the similarity of training."""

    def __init__(self, index: VideoIndex, loaded: TrainedModel, space: JointSpace, options: SearchOptions) -> None:
        if options.space is not None or options.transform is not None or options.latent_weight is not None:
            raise ConfigError(
                f"the index is of a {loaded.config.model.kind!r} model, which has one space and no concepts: "
                "leave out --space, --latent-weight and --transform"
            )
        similarity = _similarity(index.record.similarity)
        self._loaded, self._space, self._items, self._index = loaded, space, index.items, index
        self._terms = space.concept_terms(loaded) if CONCEPTS in index.record.sizes else None
        self.vocabulary = loaded.vocabulary
        count = options.num_candidates(index.record.backend)
        self._shards = tuple(JointShard(shard, similarity, count) for shard in index.shards)
        exact = all(shard.is_exact for shard in self._shards)
        how = "all" if exact else f"{count} candidates ({index.record.backend})"
        names = ", ".join(name for name in index.record.sizes if name != CONCEPTS)
        self.description = f"{similarity} in the joint space of {names}, {how} of {len(index.items)}"

    def search(
        self, texts: Sequence[str], k: int, among: Int64[np.ndarray, " chosen"] | None = None
    ) -> list[tuple[Hit, ...] | None]:
        """See `Searcher`. The vectors are read once for all queries."""
        loaded = self._loaded
        vectors, known = self._space.queries(loaded.model, loaded.config, loaded.vocabulary, texts)
        places = np.flatnonzero(known)
        found: list[tuple[Hit, ...] | None] = [None] * len(texts)
        for place, one in zip(places, self._nearest(vectors[places], k, among), strict=True):
            items = self._items.at(one.positions.tolist())
            tags = self._tags(vectors[place], one.positions)
            ranked = enumerate(zip(items, one.scores.tolist(), tags, strict=True), start=1)
            found[place] = tuple(hit_of(rank, item, score, tags=of) for rank, (item, score, of) in ranked)
        return found

    @property
    def concepts(self) -> tuple[str, ...]:
        """The names of the concepts that explain similarities; () where none do."""
        return () if self._terms is None else self._index.concepts

    def ranking(self, text: str, k: int) -> Int64[np.ndarray, " k"]:
        """The positions of the k best items for a text, best first; none for a text without a known word."""
        loaded = self._loaded
        vectors, known = self._space.queries(loaded.model, loaded.config, loaded.vocabulary, [text])
        return self._nearest(vectors, k, None)[0].positions if known.all() else np.zeros(0, np.int64)

    def why(self, text: str, position: int, num_tags: int) -> HitExplanation | None:
        """See `Searcher`."""
        explained = self.explained(text, np.array([position]), num_tags)
        return None if explained is None else explained[0]

    def explained(
        self, text: str, positions: Int64[np.ndarray, " hits"], num_tags: int, right: Sequence[int] = ()
    ) -> tuple[HitExplanation, ...] | None:
        """The concepts that make the similarity of a text with the items at these positions, best first."""
        loaded = self._loaded
        vectors, known = self._space.queries(loaded.model, loaded.config, loaded.vocabulary, [text])
        if self._terms is None or not known.all():
            return None
        z, q = self._concepts(positions), torch.from_numpy(self._terms.texts(vectors)[0])
        scores = z @ q
        return explain_hits(
            np.arange(len(positions)),
            VideoScores(scores, None, scores),
            z,
            q,
            Scoring("concept", Transform("dot")),
            concepts=self._index.concepts,
            video_ids=[item.item_id for item in self._items.at(positions.tolist())],
            right=np.flatnonzero(np.isin(positions, right)).tolist(),
            num_tags=num_tags,
        )

    def _tags(self, query: Float32[np.ndarray, " dim"], positions: Int64[np.ndarray, " hits"]) -> list[tuple[Tag, ...]]:
        """The concepts that raise the similarity of each hit most, with their shares of all that moves it."""
        if self._terms is None:
            return [()] * len(positions)
        z = self._concepts(positions)
        shares = raising(z, torch.from_numpy(self._terms.texts(query[None])).expand_as(z))
        names = self._index.concepts
        return [
            tuple(Tag(names[i], float(row[i]), percent(float(row[i]))) for i in strongest(row, NUM_TAGS))
            for row in shares
        ]

    def _concepts(self, positions: Int64[np.ndarray, " hits"]) -> Float32[Tensor, "hits concepts"]:
        """z of the items at these positions."""
        bounds = np.cumsum([0, *(len(shard.items) for shard in self._index.shards)])
        places = np.searchsorted(bounds, positions, "right") - 1
        rows = [
            self._index.shards[shard].tensors[CONCEPTS][position - bounds[shard]]
            for shard, position in zip(places, positions, strict=True)
        ]
        return torch.from_numpy(np.array(rows, np.float32).reshape(len(rows), -1))

    def _nearest(
        self, queries: Float32[np.ndarray, "queries dim"], k: int, among: Int64[np.ndarray, " chosen"] | None
    ) -> list[Nearest]:
        first, found = 0, []
        for shard in self._shards:
            end = first + shard.num_items
            chosen = None if among is None else among[slice(*np.searchsorted(among, (first, end)))] - first
            found.append([one.shifted(first) for one in shard.nearest(queries, k, chosen)])
            first = end
        return [best_of(parts, k) for parts in zip(*found, strict=True)]


class JointShard:
    """The items of one shard."""

    def __init__(self, shard: Shard, similarity: SimilarityKind, candidates: int) -> None:
        names = modalities(shard.tensors)
        vectors = {name: shard.tensors[name] for name in names}
        self._items = JointItems(vectors, {name: shard.tensors[f"has_{name}"] for name in names})
        self._similarity, self._count = similarity, candidates
        self._candidates: Candidates | None = candidates_of(shard, names[0])
        self.num_items = len(shard.items)

    @property
    def is_exact(self) -> bool:
        """Whether all items are compared with each query."""
        return self._candidates is None

    def nearest(
        self, queries: Float32[np.ndarray, "queries dim"], k: int, among: Int64[np.ndarray, " chosen"] | None
    ) -> list[Nearest]:
        """The k best items for each query; of the candidates, or of all those in `among` where they are given."""
        if self._candidates is None or among is not None:
            return nearest(self._items, queries, self._similarity, k, among)
        chosen = self._candidates.find(queries, max(self._count, k))
        return [
            nearest(self._items, query[None], self._similarity, k, near)[0]
            for query, near in zip(queries, chosen, strict=True)
        ]


def _similarity(name: str) -> SimilarityKind:
    kinds: tuple[SimilarityKind, ...] = get_args(SimilarityKind)
    found = next((kind for kind in kinds if kind == name), None)
    if found is None:
        raise DatasetError(f"the index compares by {name!r}, which this code does not know")
    return found
