"""Search of an index by a model with one joint space or by a dual encoder: its options, its hits, and their links."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, assert_never, get_args
from urllib.parse import quote

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from vtr_core import storage
from vtr_core.analysis.transforms import Transform
from vtr_core.config.data_sets import JOINED, ConceptSimilarity, joined_uris
from vtr_core.config.run import Normalisation
from vtr_core.data.manifest import FILE, Manifest
from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.embedding.embedded_rows import model_fingerprint
from vtr_core.embedding.video_ranking import (
    DualQuery,
    DualVideos,
    JointItems,
    Nearest,
    Scoring,
    Space,
    VideoScores,
    as_tensor,
    best,
    best_of,
    nearest,
    prepare,
    ranked,
)
from vtr_core.errors import ConfigError, DatasetError, InputError
from vtr_core.fingerprint import short
from vtr_core.retrieval.explain.explanation import HitExplanation, Tag, explain_hits, percent, strongest
from vtr_core.retrieval.explain.pages import KeyFrames
from vtr_core.retrieval.index.candidates import Candidates, candidates_of
from vtr_core.retrieval.index.index import CONCEPTS, Backend, IndexRecord, Shard, VideoIndex
from vtr_core.retrieval.index.items import Item
from vtr_core.retrieval.index.windows import FOLDER, RECORD, WindowFrames, WindowStore
from vtr_core.similarity import SimilarityKind, contributions, raising
from vtr_core.storage import locate
from vtr_core.storage.stated_places import stated_place
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import DualSpaces, JointSpace, spaces_of
from vtr_core.text.tokens.vocabulary import Vocabulary

NUM_TAGS = 5
"""Concepts that a hit lists."""
_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_KEPT_TRANSFORMS, _KEPT_BYTES = 4, 2**30
"""Transforms under which the concepts of all items are kept, and the memory for them, at most; one is kept always."""


@dataclass(frozen=True)
class Hit:
    """A hit of a search; the score is None in a space that was not searched or that the model lacks."""

    rank: int
    item_id: str
    video_id: str
    score: float
    latent: float | None = None
    concept: float | None = None
    tags: tuple[Tag, ...] = ()
    """The concepts that contribute most, with their shares of the total score."""
    start: float | None = None
    end: float | None = None
    """Start and end of a clip in its video, in seconds; None where unknown."""
    caption: str | None = None
    """The first caption of the item in the data set."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """The texts of the columns that ingest kept."""

    def to_json(self) -> dict[str, Any]:
        """The hit as JSON; a tag consists of name and share."""
        return {**vars(self), "tags": [{"name": tag.name, "share": tag.value} for tag in self.tags]}


def link_of(hit: Hit, template: str | None) -> str | None:
    """The link of a hit; None where none is known.

    template: an address with names in braces, {item_id}, {video_id}, {start}, {end} in whole seconds (0 where unknown),
    or a kept column, whose values are quoted; None takes the kept column `url` or `link` where it is an address of
    http(s). InputError for a name that the hit does not have.
    """
    if template is None:
        links = (hit.metadata.get(name, "") for name in ("url", "link"))
        return next((link for link in links if link.startswith(("http://", "https://"))), None)
    times = {"start": str(int(hit.start or 0)), "end": str(int(hit.end or 0))}
    values = {**hit.metadata, "item_id": hit.item_id, "video_id": hit.video_id, **times}

    def value(name: re.Match[str]) -> str:
        if name[1] not in values:
            raise InputError(f"--link {template}: there is no {{{name[1]}}}; names are {', '.join(sorted(values))}")
        return quote(values[name[1]], safe="")

    return _NAME.sub(value, template)


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search; None is the default of model and index."""

    space: Space | None = None
    latent_weight: float | None = None
    normalise: Normalisation | None = None
    transform: Transform | None = None
    candidates: int | None = None

    def num_candidates(self, backend: Backend) -> int:
        """How many candidates are ranked: more of ivf-pq unless a number is given, as its codes order them coarsely."""
        return self.candidates or (800 if backend == "ivf-pq" else 200)


class Searcher(ABC):
    """An index with the model that embeds queries."""

    description: str
    """A description of the scoring."""
    vocabulary: Vocabulary
    """The words of the model: which ones of a query it does not know."""
    comparison: ConceptSimilarity | None = None
    """By which concepts are compared; None for a model without a concept space, or a search that leaves it out."""

    @abstractmethod
    def search(
        self, texts: Sequence[str], k: int, among: Int64[np.ndarray, " chosen"] | None = None
    ) -> list[tuple[Hit, ...] | None]:
        """The k best items for each query, best first; None for a query without a known word.

        among: ascending positions of the items that may be found (None: all); they are searched without a graph of
        candidates. Scores do not depend on it.
        """

    def transformed(self, scale: float, shift: float, power: float) -> "Searcher":  # noqa: ARG002
        """The same search with concepts under another transform; InputError for a search without concepts."""
        raise InputError("the index is searched in one space, without concepts that a transform could change")

    def why(self, text: str, position: int, num_tags: int) -> HitExplanation | None:  # noqa: ARG002
        """Why an item is found; None for a model without concepts and for a text without a known word."""
        return None


def _hit(rank: int, item: Item, score: float, tags: tuple[Tag, ...], **spaces: float | None) -> Hit:
    span = {"start": item.start, "end": item.end}
    return Hit(
        rank,
        item.item_id,
        item.video_id,
        score,
        tags=tags,
        caption=item.caption,
        metadata=item.metadata,
        **span,
        **spaces,
    )


class JointSearcher(Searcher):
    """Searches one joint space by the similarity of training."""

    def __init__(self, index: VideoIndex, loaded: TrainedModel, space: JointSpace, options: SearchOptions) -> None:
        if options.space is not None or options.transform is not None or options.latent_weight is not None:
            raise ConfigError(
                f"the index is of a {loaded.config.model.kind!r} model, which has one space and no concepts: "
                "leave out --space, --latent-weight and --transform"
            )
        kinds: tuple[SimilarityKind, ...] = get_args(SimilarityKind)
        similarity = next((kind for kind in kinds if kind == index.record.similarity), None)
        if similarity is None:
            raise DatasetError(f"the index compares by {index.record.similarity!r}, which this code does not know")
        self._loaded, self._space, self._index = loaded, space, index
        self._terms = space.concept_terms(loaded) if CONCEPTS in index.record.sizes else None
        self.vocabulary = loaded.vocabulary
        count = options.num_candidates(index.record.backend)
        self._shards = tuple(JointShard(shard, similarity, count) for shard in index.shards)
        exact = all(shard.candidates is None for shard in self._shards)
        how = "all" if exact else f"{count} candidates ({index.record.backend})"
        names = ", ".join(name for name in index.record.sizes if name != CONCEPTS)
        self.description = f"{similarity} in the joint space of {names}, {how} of {len(index.items)}"

    def search(
        self, texts: Sequence[str], k: int, among: Int64[np.ndarray, " chosen"] | None = None
    ) -> list[tuple[Hit, ...] | None]:
        """See `Searcher`. The vectors are read once for all queries."""
        vectors, known = self._queries(texts)
        hits: list[tuple[Hit, ...] | None] = [None] * len(texts)
        for query, near in zip(np.flatnonzero(known), self._nearest(vectors[known], k, among), strict=True):
            items, tags = self._index.items.at(near.positions.tolist()), self._tags(vectors[query], near.positions)
            ranked_items = enumerate(zip(items, near.scores.tolist(), tags, strict=True), start=1)
            hits[query] = tuple(_hit(rank, item, score, item_tags) for rank, (item, score, item_tags) in ranked_items)
        return hits

    @property
    def concepts(self) -> tuple[str, ...]:
        """The names of the concepts that explain similarities; () where none do."""
        return () if self._terms is None else self._index.concepts

    def ranking(self, text: str, k: int) -> Int64[np.ndarray, " k"]:
        """The positions of the k best items for a text, best first; none for a text without a known word."""
        vectors, known = self._queries([text])
        return self._nearest(vectors, k, None)[0].positions if known.all() else np.zeros(0, np.int64)

    def why(self, text: str, position: int, num_tags: int) -> HitExplanation | None:
        """See `Searcher`."""
        explained = self.explained(text, np.array([position]), num_tags)
        return None if explained is None else explained[0]

    def explained(
        self, text: str, positions: Int64[np.ndarray, " hits"], num_tags: int, right: Sequence[int] = ()
    ) -> tuple[HitExplanation, ...] | None:
        """The concepts that make the similarity of a text with the items at these positions, best first."""
        vectors, known = self._queries([text])
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
            video_ids=[item.item_id for item in self._index.items.at(positions.tolist())],
            right=np.flatnonzero(np.isin(positions, right)).tolist(),
            num_tags=num_tags,
        )

    def _queries(self, texts: Sequence[str]) -> tuple[Float32[np.ndarray, "texts dim"], np.ndarray]:
        """The vectors of texts, and which have a known word."""
        return self._space.queries(self._loaded.model, self._loaded.config, self._loaded.vocabulary, texts)

    def _tags(self, query: Float32[np.ndarray, " dim"], positions: Int64[np.ndarray, " hits"]) -> list[tuple[Tag, ...]]:
        """The concepts that raise the similarity of each hit most, with their shares of all that moves it."""
        if self._terms is None:
            return [()] * len(positions)
        z = self._concepts(positions)
        shares = raising(z, torch.from_numpy(self._terms.texts(query[None])).expand_as(z))
        return [_share_tags(row, self._index.concepts) for row in shares]

    def _concepts(self, positions: Int64[np.ndarray, " hits"]) -> Float32[Tensor, "hits concepts"]:
        """z of the items at these positions."""
        bounds = np.cumsum([0, *(len(shard.items) for shard in self._index.shards)])
        shards = np.searchsorted(bounds, positions, "right") - 1
        rows = [
            self._index.shards[shard].tensors[CONCEPTS][position - bounds[shard]]
            for shard, position in zip(shards, positions, strict=True)
        ]
        return torch.from_numpy(np.array(rows, np.float32).reshape(len(rows), -1))

    def _nearest(
        self, queries: Float32[np.ndarray, "queries dim"], k: int, among: Int64[np.ndarray, " chosen"] | None
    ) -> list[Nearest]:
        first, parts = 0, []
        for shard in self._shards:
            end = first + shard.items.num_items
            chosen = None if among is None else among[slice(*np.searchsorted(among, (first, end)))] - first
            parts.append([near.shifted(first) for near in shard.nearest(queries, k, chosen)])
            first = end
        return [best_of(of_query, k) for of_query in zip(*parts, strict=True)]


class JointShard:
    """The items of one shard, with its candidates; None where all items are compared with each query."""

    def __init__(self, shard: Shard, similarity: SimilarityKind, count: int) -> None:
        names = shard.modalities
        vectors = {name: shard.tensors[name] for name in names}
        self.items = JointItems(vectors, {name: shard.tensors[f"has_{name}"] for name in names})
        self.candidates: Candidates | None = None if shard.candidates is None else candidates_of(shard, names[0])
        self._similarity, self._count = similarity, count

    def nearest(
        self, queries: Float32[np.ndarray, "queries dim"], k: int, among: Int64[np.ndarray, " chosen"] | None
    ) -> list[Nearest]:
        """The k best items for each query; of the candidates, or of all those in `among` where they are given."""
        if self.candidates is None or among is not None:
            return nearest(self.items, queries, self._similarity, k, among)
        return [
            nearest(self.items, query[None], self._similarity, k, near)[0]
            for query, near in zip(queries, self.candidates.find(queries, max(self._count, k)), strict=True)
        ]


class DualSearcher(Searcher):
    """Searches candidates from latent space by the hybrid score, or one of the spaces alone."""

    def __init__(self, index: VideoIndex, loaded: TrainedModel, spaces: DualSpaces, options: SearchOptions) -> None:
        kind = spaces.concept_similarity(loaded.config)
        (shard,) = index.shards
        latent, concept = (as_tensor(shard.tensors.get(name)) for name in ("latent", CONCEPTS))
        videos = DualVideos((), latent, concept, index.concepts, kind)
        self._scoring = _scoring(spaces.scoring(loaded), options, index.record.backend)
        self._loaded, self._spaces, self._index = loaded, spaces, index
        self.vocabulary = loaded.vocabulary
        self.comparison = kind if self._scoring.concept_weight and concept is not None else None
        self._prepared = prepare(videos, self._scoring)
        size = 1 if concept is None else max(1, concept.numel() * concept.element_size())
        self._transformed = lru_cache(max(1, min(_KEPT_TRANSFORMS, _KEPT_BYTES // size)))(
            lambda transform: DualSearcher(index, loaded, spaces, replace(options, transform=transform))
        )
        self._candidates = candidates_of(shard, "latent")
        backend = "" if self._candidates is None else f" ({index.record.backend})"
        self.description = _described(self._scoring, len(index.items), backend)

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
        prepared, scoring = self._prepared, self._scoring
        (query,) = self._spaces.queries(self._loaded, [text])
        if query is None or query.concept is None or prepared.compared is None or not scoring.concept_weight:
            return None
        (explanation,) = explain_hits(
            np.array([position]),
            prepared.score(query),
            prepared.compared[[position]],
            scoring.transform.apply(query.concept),
            scoring,
            concepts=prepared.videos.concepts,
            video_ids=[self._index.items[position].video_id],
            right=(),
            num_tags=num_tags,
        )
        return explanation

    def _hits(self, query: DualQuery, k: int, among: Int64[np.ndarray, " chosen"] | None) -> tuple[Hit, ...]:
        scores = self._prepared.score(query)
        positions = ranked(scores, self._scoring, k, self._chosen(query, scores, k, among)).tolist()
        return tuple(
            _hit(
                rank,
                item,
                float(scores.total[position]),
                self._tags(query, position),
                latent=None if scores.latent is None else float(scores.latent[position]),
                concept=None if scores.concept is None else float(scores.concept[position]),
            )
            for rank, (position, item) in enumerate(
                zip(positions, self._index.items.at(positions), strict=True), start=1
            )
        )

    def _chosen(
        self, query: DualQuery, scores: VideoScores, k: int, among: Int64[np.ndarray, " chosen"] | None
    ) -> Int64[np.ndarray, " candidates"] | None:
        """The items to rank, at least k; candidates ignore `among`, for which all of latent space is compared."""
        count = None if self._scoring.candidates is None else max(self._scoring.candidates, k)
        if among is None:
            if self._candidates is None or count is None or query.latent is None:
                return None
            return self._candidates.find(query.latent.numpy()[None], count)[0]
        if count is None or scores.latent is None:
            return among
        return among[best(scores.latent.numpy()[among], count)]

    def _tags(self, query: DualQuery, position: int) -> tuple[Tag, ...]:
        """The concepts that contribute most to the score of a video, with their shares of the total score."""
        compared, transform = self._prepared.compared, self._scoring.transform
        if compared is None or query.concept is None or not self._scoring.concept_weight:
            return ()
        shares = contributions(compared[position][None], transform.apply(query.concept)[None], transform.similarity)[0]
        return _share_tags(self._scoring.concept_weight * shares, self._prepared.videos.concepts)


def _share_tags(shares: Float32[Tensor, " concepts"], names: Sequence[str]) -> tuple[Tag, ...]:
    return tuple(Tag(names[i], float(shares[i]), percent(float(shares[i]))) for i in strongest(shares, NUM_TAGS))


def _scoring(own: Scoring, options: SearchOptions, backend: Backend) -> Scoring:
    """The policy of the model, changed by what the options name; an exact index ranks all items."""
    space = options.space or own.space
    if space == "latent" and options.transform is not None:
        raise ConfigError("--transform changes concepts, which --space latent does not use")
    policy = own if options.transform is None else own.transformed(options.transform)
    every = backend == "exact" and options.candidates is None
    return replace(
        policy,
        space=space,
        latent_weight=policy.latent_weight if options.latent_weight is None else options.latent_weight,
        normalise=options.normalise or policy.normalise,
        candidates=options.num_candidates(backend) if space == "hybrid" and not every else None,
    )


def _described(scoring: Scoring, num_items: int, backend: str) -> str:
    match scoring.space:
        case "hybrid":
            candidates = f"all {num_items}"
            if scoring.candidates is not None:
                candidates = (
                    f"{min(scoring.candidates, num_items)} candidates from latent space{backend} of {num_items}"
                )
            weights = f"{scoring.latent_weight:g} latent + {1 - scoring.latent_weight:g} concept"
            scale = {
                "query": "scores of each query",
                "train": "training scores",
                "matrix": "scores of each query (evaluation takes those of all its queries: ranks may differ)",
            }[scoring.normalise]
            return f"{weights}, scaled by the {scale}; {candidates}"
        case "latent":
            return f"latent space alone, all {num_items}"
        case "concept":
            return f"concept space alone, all {num_items}"
        case _:
            assert_never(scoring.space)


def searcher(index: VideoIndex, loaded: TrainedModel, options: SearchOptions) -> Searcher:
    """A searcher of `index`; DatasetError where `loaded` is not its model, ConfigError for unsuitable options."""
    own, fingerprint = index.record.model_fingerprint, model_fingerprint(loaded.model)
    if fingerprint != own:
        raise DatasetError(
            f"the index was made with the model {short(own)} ({index.record.checkpoint}), the checkpoint is "
            f"{short(fingerprint)} ({loaded.uri}): their vectors cannot be compared; run vtr index again, or give the "
            "index's own --checkpoint"
        )
    match spaces_of(loaded, "search"):
        case DualSpaces() as spaces:
            return DualSearcher(index, loaded, spaces, options)
        case JointSpace() as space:
            return JointSearcher(index, loaded, space, options)


def key_frames(index: str, record: IndexRecord) -> KeyFrames | None:
    """The pictures of an index's items: those beside an index of video files, or the data set's, where it is there.

    DatasetError where the data set is another than the one that was indexed.
    """
    if storage.exists(locate(index) / FOLDER / RECORD):
        return WindowFrames(WindowStore.beside(locate(index)))
    manifest = indexed_data(index, record)
    return None if manifest is None else Thumbnails(manifest)


def indexed_data(index: str, record: IndexRecord) -> Manifest | None:
    """The indexed data set, unchanged; None where it is missing, or where the index may not say: `stated_place`.

    DatasetError where it differs. An unreachable store is no error, as the index does not need the data set.
    """
    try:
        parts = [stated_place(part, index, "--data") for part in joined_uris(record.data)]
        if not all(storage.exists(locate(part) / FILE) for part in parts):
            return None
        manifest = Manifest.load(JOINED.join(parts))
    except (storage.StorageError, OSError):
        return None
    if manifest.fingerprint != record.data_fingerprint:
        raise DatasetError(
            f"{record.data} was ingested again since it was indexed (it is {short(manifest.fingerprint)}, the index is "
            f"of {short(record.data_fingerprint)}); run vtr index again"
        )
    return manifest
