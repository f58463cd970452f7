"""Search of an index of a model with one joint space: the best of every shard, and of these the best."""

from collections.abc import Sequence
from typing import get_args

import numpy as np
from jaxtyping import Float32, Int64

from vtr_core.errors import ConfigError, DatasetError
from vtr_core.retrieval.embed.joint_space import JointSpace
from vtr_core.retrieval.index.candidates import Candidates, candidates_of
from vtr_core.retrieval.index.index import Shard, VideoIndex, sizes
from vtr_core.retrieval.search.hit import Hit, hit_of
from vtr_core.retrieval.search.joint import JointItems
from vtr_core.retrieval.search.nearest import Nearest, best_of, nearest
from vtr_core.retrieval.search.searcher import Searcher, SearchOptions
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
        self._loaded, self._space, self._items = loaded, space, index.items
        self.vocabulary = loaded.vocabulary
        count = options.num_candidates(index.record.backend)
        self._shards = tuple(JointShard(shard, similarity, count) for shard in index.shards)
        exact = all(shard.is_exact for shard in self._shards)
        how = "all" if exact else f"{count} candidates ({index.record.backend})"
        names = ", ".join(index.record.sizes)
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
            ranked = enumerate(zip(items, one.scores.tolist(), strict=True), start=1)
            found[place] = tuple(hit_of(rank, item, score) for rank, (item, score) in ranked)
        return found

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
        names = list(sizes(shard.tensors))
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
