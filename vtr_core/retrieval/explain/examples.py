"""Retrieved examples of models beside each other: the best items of each query, and what responds to both."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float32

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.schema import ClipSchema, VideoSchema
from vtr_core.embedding.video_ranking import JointItems, best
from vtr_core.errors import DatasetError
from vtr_core.nn.embeddings import TEXT
from vtr_core.retrieval.explain.explanation import AskedQuery, ExplainOptions, Tag, asked_queries
from vtr_core.retrieval.index.build import JointClips, joint_clips
from vtr_core.systems.loaded_model import Responses, TrainedModel, Units
from vtr_core.systems.spaces import JointSpace, unknown_words


@dataclass(frozen=True)
class ExampleHit:
    """A retrieved clip or video."""

    rank: int
    item_id: str
    video_id: str
    right: bool
    score: float
    caption: str | None
    start: float | None
    end: float | None
    units: Mapping[str, tuple[Tag, ...]] = field(default_factory=dict)
    """By modality, the units that respond most, of those that respond more than on average; matched where the query
    has them, too."""


@dataclass(frozen=True)
class ExampleAnswer:
    """What one model finds for one query."""

    right_rank: int | None
    hits: tuple[ExampleHit, ...]
    units: tuple[Tag, ...] = ()
    """The units that respond most to the query."""

    @property
    def has_units(self) -> bool:
        """Whether the model has units that respond, as capsules do."""
        return bool(self.units) or any(hit.units for hit in self.hits)


@dataclass(frozen=True)
class ComparedModel:
    """A model of the page."""

    checkpoint: str
    step: int
    similarity: str
    """By which its items are ranked."""
    title: str = ""

    def titled(self, title: str) -> "ComparedModel":
        """The model with its title on the page."""
        return replace(self, title=title)


@dataclass(frozen=True)
class ExampleQuery:
    """A query with the answers of all models."""

    text: str
    right: tuple[str, ...]
    answers: tuple[ExampleAnswer, ...]


@dataclass(frozen=True)
class ExampleReport:
    """The content of a page of examples."""

    data: str
    num_items: int
    models: tuple[ComparedModel, ...]
    queries: tuple[ExampleQuery, ...]

    @property
    def has_units(self) -> bool:
        """Whether any model has units that respond."""
        return any(answer.has_units for query in self.queries for answer in query.answers)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON, with field names as keys."""
        return asdict(self)


LEAST_SHOWN = 1.01
"""The activation of a capsule, over its mean, from which on it says anything of an item; below, a page shows ×1.00."""


@dataclass(frozen=True)
class Examples:
    """The answers of one model to all queries."""

    num_items: int
    right: tuple[tuple[str, ...], ...]
    """For each query the ids of its relevant items, as far as they are known."""
    answers: tuple[ExampleAnswer, ...]


def examples(
    loaded: TrainedModel,
    space: JointSpace,
    manifest: Manifest,
    given: Sequence[tuple[str, str | None]],
    options: ExplainOptions,
) -> Examples:
    """The best items of a data set for each query, by the similarity that the model is judged by.

    given: queries, each with the id of its item; without it the items with exactly this caption are relevant. Raises
    InputError for a query without a known word and for an unknown item, DatasetError for data without the model's
    features.
    """
    texts = [text for text, _ in given]
    items, scores = _scored(loaded, space, manifest, texts)
    ids = [item.item_id for item in items.items]
    asked = asked_of_items(manifest, given, ids)
    found = [best(row, options.hits) for row in scores]
    shown = {ids[position] for positions in found for position in positions.tolist()}
    responses = loaded.config.model.system().implementation().responses(loaded, manifest, texts, shown)
    return Examples(
        num_items=len(ids),
        right=tuple(tuple(ids[position] for position in query.right) for query in asked),
        answers=tuple(
            _answer(items, row, query, positions, _Shown(responses, number, options.tags))
            for number, (row, query, positions) in enumerate(zip(scores, asked, found, strict=True))
        ),
    )


def _scored(
    loaded: TrainedModel, space: JointSpace, manifest: Manifest, texts: Sequence[str]
) -> tuple[JointClips, Float32[np.ndarray, "texts items"]]:
    """All items of the data set, and their scores for each text."""
    space.check(loaded.config, manifest)
    vectors, known = space.queries(loaded.model, loaded.config, loaded.vocabulary, texts)
    if not known.all():
        raise unknown_words(texts[int(np.flatnonzero(~known)[0])], loaded)
    places = row_groups(manifest)
    rows = space.rows(loaded.model, loaded.config, manifest, loaded.vocabulary, places)
    items = joint_clips(rows, manifest, places)
    if items is None:
        raise DatasetError(f"{manifest.uri}: no clip has any feature that the model takes; nothing is found")
    scores = JointItems(items.vectors, items.present).scores(vectors, loaded.config.evaluation.similarity)
    return items, scores


def asked_of_items(manifest: Manifest, given: Sequence[tuple[str, str | None]], ids: Sequence[str]) -> list[AskedQuery]:
    """The queries with the positions of their items; without one those with exactly this caption are relevant."""
    position = {item_id: place for place, item_id in enumerate(ids)}
    told = [(caption, position[item_id]) for item_id, caption in item_captions(manifest) if item_id in position]
    return asked_queries(given, ids, [caption for caption, _ in told], [place for _, place in told])


def item_captions(manifest: Manifest) -> list[tuple[str, str]]:
    """The id of an item and a caption, for all captions of a data set of clips, frames or whole videos."""
    item = "video_id" if isinstance(manifest.schema, VideoSchema) else "clip_id"
    told = "caption" if isinstance(manifest.schema, ClipSchema) else "captions"
    reader = RowGroupReader(manifest, [item, told])
    found: list[tuple[str, str]] = []
    for place in row_groups(manifest):
        columns = reader.read_arrow(place)
        for item_id, said in zip(columns[item].to_pylist(), columns[told].to_pylist(), strict=True):
            found.extend((item_id, caption) for caption in ([said] if told == "caption" else said))
    return found


@dataclass(frozen=True)
class _Shown:
    """The units shown for one query and its items."""

    responses: Responses | None
    number: int
    count: int

    @property
    def of_query(self) -> list[int]:
        """The units that respond most to the query."""
        return [] if self.responses is None else strongest(self.responses.texts[self.number], self.count)

    def query_tags(self) -> tuple[Tag, ...]:
        """Those as tags."""
        if self.responses is None:
            return ()
        return _tags(self.responses.names[TEXT], self.responses.texts[self.number], self.of_query, self.of_query)

    def item_tags(self, item_id: str) -> dict[str, tuple[Tag, ...]]:
        """By modality, the units that respond most to an item."""
        if self.responses is None:
            return {}
        return {
            name: _tags(self.responses.names[name], values, strongest(values, self.count), self.of_query)
            for name, values in self.responses.items.get(item_id, {}).items()
        }


def _answer(
    items: JointClips,
    scores: Float32[np.ndarray, " items"],
    query: AskedQuery,
    positions: np.ndarray,
    shown: _Shown,
) -> ExampleAnswer:
    ranks = np.flatnonzero(np.isin(best(scores, len(scores)), query.right))
    hits = []
    for rank, position in enumerate(positions.tolist(), start=1):
        item = items.items[position]
        hits.append(
            ExampleHit(
                rank=rank,
                item_id=item.item_id,
                video_id=item.video_id,
                right=position in query.right,
                score=float(scores[position]),
                caption=item.caption,
                start=item.start,
                end=item.end,
                units=shown.item_tags(item.item_id),
            )
        )
    return ExampleAnswer(int(ranks[0]) + 1 if len(ranks) else None, tuple(hits), shown.query_tags())


def strongest(values: Units, count: int) -> list[int]:
    """The units clearly above their mean that respond most, at most `count`, largest first, ties by number."""
    return [unit for unit in np.argsort(-values, kind="stable")[:count].tolist() if values[unit] >= LEAST_SHOWN]


def _tags(names: Sequence[str], values: Units, chosen: Sequence[int], matched: Collection[int]) -> tuple[Tag, ...]:
    return tuple(Tag(names[unit], float(values[unit]), f"×{values[unit]:.2f}", unit in matched) for unit in chosen)
