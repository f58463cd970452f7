"""Search of an index by a model with one joint space or by a dual encoder, checked against model and data."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import assert_never, get_args

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from vtr_core import storage
from vtr_core.analysis.transforms import Transform
from vtr_core.config.data_sets import joined_uris
from vtr_core.data.manifest import FILE, Manifest
from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.embedding.embedded_rows import model_fingerprint
from vtr_core.embedding.video_ranking import (
    DualQuery,
    DualVideos,
    JointItems,
    Nearest,
    PreparedSearch,
    Scoring,
    VideoScores,
    as_tensor,
    best,
    best_of,
    nearest,
    prepare,
    ranked,
)
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.fingerprint import short
from vtr_core.retrieval.explain.explanation import HitExplanation, Tag
from vtr_core.retrieval.explain.hits import explain_hits, percent, strongest
from vtr_core.retrieval.explain.key_frames import KeyFrames
from vtr_core.retrieval.index.candidates import Candidates, candidates_of
from vtr_core.retrieval.index.index import Shard, VideoIndex, modalities
from vtr_core.retrieval.index.items import VideoIds
from vtr_core.retrieval.index.record import CONCEPTS, IndexRecord
from vtr_core.retrieval.index.window_index import WindowFrames
from vtr_core.retrieval.index.windows import WindowStore
from vtr_core.retrieval.search.searcher import NUM_TAGS, Hit, Searcher, SearchOptions, hit_of
from vtr_core.similarity import SimilarityKind, contributions, raising
from vtr_core.storage import locate
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import DualSpaces, JointSpace, spaces_of


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


_KEPT_TRANSFORMS = 4
"""Transforms under which the concepts of all items are kept."""


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
        self.comparison = kind if scoring.concept_weight and concept is not None else None
        self._prepared = prepare(videos, scoring)
        self._transformed = lru_cache(_KEPT_TRANSFORMS)(
            lambda transform: DualSearcher(index, loaded, spaces, replace(options, transform=transform))
        )
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

    def transformed(self, scale: float, shift: float, power: float) -> Searcher:
        """See `Searcher`."""
        if self.comparison is None:
            return super().transformed(scale, shift, power)
        return self._transformed(Transform(self.comparison, scale, shift, power))

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


def searcher(index: VideoIndex, loaded: TrainedModel, options: SearchOptions) -> Searcher:
    """A searcher of `index`; DatasetError where `loaded` is not its model, ConfigError for unsuitable options."""
    check_model(index.record, loaded)
    match spaces_of(loaded, "search"):
        case DualSpaces() as spaces:
            return DualSearcher(index, loaded, spaces, options)
        case JointSpace() as space:
            return JointSearcher(index, loaded, space, options)


def check_model(record: IndexRecord, loaded: TrainedModel) -> None:
    """DatasetError unless the index was computed with this model."""
    found = model_fingerprint(loaded.model)
    if found != record.model_fingerprint:
        raise DatasetError(
            f"the index was made with the model {short(record.model_fingerprint)} ({record.checkpoint}), the "
            f"checkpoint is {short(found)} ({loaded.uri}): their vectors cannot be compared; run vtr index again, or "
            "give the index's own --checkpoint"
        )


def key_frames(index: str, record: IndexRecord) -> KeyFrames | None:
    """The pictures of an index's items: those beside an index of video files, or the data set's, where it is there.

    DatasetError where the data set is another than the one that was indexed.
    """
    store = WindowStore.beside(locate(index))
    if store:
        return WindowFrames(store)
    return Thumbnails(Manifest.load(record.data)) if check_data(record) else None


def check_data(record: IndexRecord) -> bool:
    """Whether the indexed data set still exists, unchanged; False where it is missing. DatasetError where it differs.

    An unreachable store is no error, as the index does not need the data set.
    """
    try:
        if not all(storage.exists(locate(part) / FILE) for part in joined_uris(record.data)):
            return False
        found = Manifest.load(record.data).fingerprint
    except (storage.StorageError, OSError):
        return False
    if found != record.data_fingerprint:
        raise DatasetError(
            f"{record.data} was ingested again since it was indexed (it is {short(found)}, the index is of "
            f"{short(record.data_fingerprint)}); run vtr index again"
        )
    return True
