"""Search of an index, for all kinds of models."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, assert_never, get_args

import numpy as np
from jaxtyping import Float32, Int64

from vtr_core import storage
from vtr_core.analysis.transforms import Transform
from vtr_core.contributions import contributions
from vtr_core.data.manifest import FILE, Manifest
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.fingerprint import short
from vtr_core.retrieval.embed.joint_space import JointSpace
from vtr_core.retrieval.explain.hits import explain_hits, percent, strongest
from vtr_core.retrieval.explain.tag_cloud import Tag
from vtr_core.retrieval.explain.values import HitExplanation
from vtr_core.retrieval.index.faiss import Graph
from vtr_core.retrieval.index.index import IndexRecord, Item, VideoIndex, model_fingerprint
from vtr_core.retrieval.index.items import VideoIds
from vtr_core.retrieval.search.dual_spaces import DualSpaces
from vtr_core.retrieval.search.joint import JointItems
from vtr_core.retrieval.search.search import (
    DualQuery,
    DualVideos,
    Normalise,
    PreparedSearch,
    Scoring,
    Space,
    VideoScores,
    as_tensor,
    best,
    prepare,
    ranked,
)
from vtr_core.retrieval.spaces import spaces_of
from vtr_core.similarity import SimilarityKind
from vtr_core.storage import locate
from vtr_core.systems.loaded_model import TrainedModel

NUM_TAGS = 5


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search; None is the default of model and index."""

    space: Space | None = None
    latent_weight: float | None = None
    normalise: Normalise = "query"
    transform: Transform | None = None
    candidates: int = 200


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
        return {**asdict(self), "tags": [{"name": tag.name, "share": tag.value} for tag in self.tags]}


class Searcher(ABC):
    """An index with the model that embeds queries."""

    description: str
    """A description of the scoring."""

    @abstractmethod
    def search(
        self, texts: Sequence[str], k: int, among: Int64[np.ndarray, " chosen"] | None = None
    ) -> list[tuple[Hit, ...] | None]:
        """The k best items for each query, best first; None for a query without a known word.

        among: ascending positions of the items that may be found (None: all); they are searched without a graph of
        candidates. Scores do not depend on it.
        """

    def why(self, text: str, position: int, num_tags: int) -> HitExplanation | None:  # noqa: ARG002
        """Why an item is found; None for a model without concepts and for a text without a known word."""
        return None


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
            f"the index was made with the model {short(record.model_fingerprint)}, the checkpoint is {short(found)}: "
            "their vectors cannot be compared; run vtr index again, or give the index's own --checkpoint"
        )


def check_data(record: IndexRecord) -> bool:
    """Whether the indexed data set still exists, unchanged; False where it is missing. DatasetError where it differs.

    An unreachable store is no error, as the index does not need the data set.
    """
    try:
        if not storage.exists(locate(record.data) / FILE):
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


class DualSearcher(Searcher):
    """Searches candidates from latent space by the hybrid score, or one of the spaces alone."""

    def __init__(self, index: VideoIndex, loaded: TrainedModel, spaces: DualSpaces, options: SearchOptions) -> None:
        kind = spaces.concept_similarity(loaded.config)
        latent, concept = (as_tensor(index.tensors.get(name)) for name in ("latent", "concept"))
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
            candidates=options.candidates if space == "hybrid" else None,
        )
        self._loaded, self._spaces, self._index = loaded, spaces, index
        self._prepared = prepare(videos, scoring)
        self._graph = _graph(index, "latent")
        self.description = _described(scoring, len(index.items), self._graph is not None)

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
        self, query: DualQuery, scores: VideoScores, among: Int64[np.ndarray, " chosen"] | None
    ) -> Int64[np.ndarray, " candidates"] | None:
        """The items to rank; the graph does not know of `among`, for which all of latent space is compared."""
        count = self._prepared.scoring.candidates
        if among is None:
            if self._graph is None or count is None or query.latent is None:
                return None
            return self._graph.candidates(query.latent.numpy(), count)
        if count is None or scores.latent is None:
            return among
        return among[best(scores.latent.numpy()[among], count)]

    def _hits(self, query: DualQuery, k: int, among: Int64[np.ndarray, " chosen"] | None) -> tuple[Hit, ...]:
        scoring = self._prepared.scoring
        scores = self._prepared.score(query)
        chosen = self._chosen(query, scores, among)
        return tuple(
            _hit(
                rank,
                self._index.items[int(position)],
                float(scores.total[position]),
                latent=None if scores.latent is None else float(scores.latent[position]),
                concept=None if scores.concept is None else float(scores.concept[position]),
                tags=contributing_tags(self._prepared, query, int(position), NUM_TAGS),
            )
            for rank, position in enumerate(ranked(scores, scoring, k, chosen), start=1)
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


def _described(scoring: Scoring, num_items: int, graph: bool) -> str:
    match scoring.space:
        case "hybrid":
            candidates = min(scoring.candidates or num_items, num_items)
            origin = f"{candidates} candidates from latent space" + (" (faiss)" if graph else "")
            weights = f"{scoring.latent_weight:g} latent + {1 - scoring.latent_weight:g} concept"
            return f"{weights}, scaled by the {_SCALES[scoring.normalise]}; {origin} of {num_items}"
        case "latent":
            return f"latent space alone, all {num_items}"
        case "concept":
            return f"concept space alone, all {num_items}"
        case _:
            assert_never(scoring.space)


_SCALES = {"query": "scores of each query", "train": "training scores"}


class JointSearcher(Searcher):
    """Searches one joint space by the similarity of training."""

    def __init__(self, index: VideoIndex, loaded: TrainedModel, space: JointSpace, options: SearchOptions) -> None:
        if options.space is not None or options.transform is not None or options.latent_weight is not None:
            raise ConfigError(
                f"the index is of a {loaded.config.model.kind!r} model, which has one space and no concepts: "
                "leave out --space, --latent-weight and --transform"
            )
        kinds: tuple[SimilarityKind, ...] = get_args(SimilarityKind)
        self._kind = next((kind for kind in kinds if kind == index.record.similarity), None)
        if self._kind is None:
            raise DatasetError(f"the index compares by {index.record.similarity!r}, which this code does not know")
        self._loaded, self._space, self._index, self._candidates = loaded, space, index, options.candidates
        names = list(index.record.sizes)
        vectors = {name: index.tensors[name] for name in names}
        self._items = JointItems(vectors, {name: index.tensors[f"has_{name}"] for name in names})
        self._graph = _graph(index, names[0])
        how = f"{options.candidates} candidates (faiss)" if self._graph is not None else "all"
        self.description = f"{self._kind} in the joint space of {', '.join(names)}, {how} of {len(index.items)}"

    def search(
        self, texts: Sequence[str], k: int, among: Int64[np.ndarray, " chosen"] | None = None
    ) -> list[tuple[Hit, ...] | None]:
        """See `Searcher`. Without candidates all queries are compared in one product."""
        loaded = self._loaded
        vectors, known = self._space.queries(loaded.model, loaded.config, loaded.vocabulary, texts)
        places = np.flatnonzero(known)
        found: list[tuple[Hit, ...] | None] = [None] * len(texts)
        if self._graph is None or among is not None:
            hits = [self._hits(scores, among, k) for scores in self._scores(vectors[places], among)]
        else:
            hits = [self._near(vectors[place], k, self._graph) for place in places]
        for place, one in zip(places, hits, strict=True):
            found[place] = one
        return found

    def _scores(
        self, queries: Float32[np.ndarray, "queries dim"], chosen: Int64[np.ndarray, " chosen"] | None
    ) -> Float32[np.ndarray, "queries scored"]:
        assert self._kind is not None
        return self._items.scores(queries, self._kind, chosen)

    def _near(self, query: Float32[np.ndarray, " dim"], k: int, graph: Graph) -> tuple[Hit, ...]:
        chosen = np.sort(graph.candidates(query, max(self._candidates, k)))
        return self._hits(self._scores(query[None], chosen)[0], chosen, k)

    def _hits(
        self, scores: Float32[np.ndarray, " scored"], chosen: Int64[np.ndarray, " scored"] | None, k: int
    ) -> tuple[Hit, ...]:
        order = best(scores, k)
        found = order if chosen is None else chosen[order]
        items = self._index.items
        return tuple(
            _hit(rank, items[int(position)], float(scores[place]))
            for rank, (place, position) in enumerate(zip(order, found, strict=True), start=1)
        )


def _hit(
    rank: int,
    item: Item,
    score: float,
    latent: float | None = None,
    concept: float | None = None,
    tags: tuple[Tag, ...] = (),
) -> Hit:
    told = item.caption, item.metadata
    return Hit(rank, item.item_id, item.video_id, score, latent, concept, tags, item.start, item.end, *told)


def _graph(index: VideoIndex, name: str) -> Graph | None:
    if index.candidates is None:
        return None
    return Graph(index.candidates, len(index.items), index.record.sizes[name])
