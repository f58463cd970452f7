"""The pages of explanations and of hits, self-contained HTML files without scripts, and the pictures on them.

A picture is of a folder of image files, the data set's thumbnails, or a placeholder.
"""

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import jinja2
import numpy as np
from jaxtyping import Float32

from vtr_core import storage
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.schema import ClipSchema, VideoSchema
from vtr_core.data.shards.thumbnails import Thumbnail
from vtr_core.data.sources.files import spellings
from vtr_core.embedding.video_ranking import JointItems, best
from vtr_core.errors import DatasetError, InputError
from vtr_core.nn.embeddings import TEXT
from vtr_core.page_templates import page_environment
from vtr_core.retrieval.explain.explanation import (
    AskedQuery,
    ExplainOptions,
    ExplainReport,
    Tag,
    asked_queries,
    described,
    percent,
    sized,
)
from vtr_core.retrieval.index.build import JointClips, joint_clips
from vtr_core.retrieval.index.items import Item
from vtr_core.storage import Location, is_file_name
from vtr_core.systems.loaded_model import Responses, TrainedModel, Units
from vtr_core.systems.spaces import JointSpace, unknown_words
from vtr_core.time_span import time_span

LARGEST_IMAGE = 2_000_000
"""Largest size of an image file in bytes; a page embeds many."""
_KINDS = {
    "jpg": ("image/jpeg", b"\xff\xd8\xff"),
    "jpeg": ("image/jpeg", b"\xff\xd8\xff"),
    "png": ("image/png", b"\x89PNG"),
}
PLACEHOLDER = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 160 90"><rect width="160" height="90" fill="#b8bcc2"/></svg>'
)
"""Shown where there is no key frame."""


@runtime_checkable
class KeyFrames(Protocol):
    """Key frames by the ids of items, such as a data set's `Thumbnails`."""

    def find(self, ids: Iterable[str]) -> Mapping[str, Thumbnail]:
        """Those that there are."""
        ...


@dataclass(frozen=True)
class Picture:
    """The key frame of a video or clip as image bytes; without them a grey placeholder."""

    number: int
    item_id: str
    media_type: str = ""
    content: bytes = b""
    when: str = ""
    """The time span of the frame, for display; empty where unknown."""

    @property
    def href(self) -> str:
        """The picture or placeholder as a data URI."""
        media_type = self.media_type or "image/svg+xml"
        return f"data:{media_type};base64,{base64.b64encode(self.content or PLACEHOLDER).decode()}"


def check_frames(folder: Location | None) -> None:
    """InputError where a given folder does not exist."""
    if folder is not None and not storage.exists(folder):
        raise InputError(f"--keyframes {folder} does not exist; it is a folder of <video id>.jpg or .png files")


def read_pictures(
    folder: Location | None, item_ids: Iterable[str], thumbnails: KeyFrames | None = None
) -> dict[str, Picture]:
    """The picture of each video or clip, numbered from 0.

    In order of preference from the folder, from thumbnails, or a placeholder. Files need the signature of their type
    and at most LARGEST_IMAGE bytes.
    """
    distinct = dict.fromkeys(item_ids)
    known: Mapping[str, Thumbnail] = {} if thumbnails is None else thumbnails.find(distinct)
    return {item_id: _picture(folder, item_id, number, known.get(item_id)) for number, item_id in enumerate(distinct)}


def _picture(folder: Location | None, item_id: str, number: int, known: Thumbnail | None) -> Picture:
    when = "" if known is None else time_span(known.start, known.end)
    names = [(name, kind) for suffix, kind in _KINDS.items() for name in spellings(f"{item_id}.{suffix}")]
    for name, (media_type, start) in names:
        if folder is None or not is_file_name(name) or not storage.exists(folder / name):
            continue
        content = storage.read_bytes(folder / name)
        if content.startswith(start) and len(content) <= LARGEST_IMAGE:
            return Picture(number, item_id, media_type, content, when)
    media_type, start = _KINDS["jpg"]
    if known is not None and known.jpeg.startswith(start) and len(known.jpeg) <= LARGEST_IMAGE:
        return Picture(number, item_id, media_type, known.jpeg, when)
    return Picture(number, item_id, when=when)


def render_explanations(report: ExplainReport, pictures: Mapping[str, Picture]) -> str:
    """The report as HTML. All texts (queries, ids, concepts) are escaped.

    pictures: by video id, one for every hit.
    """
    return _environment().get_template("explanations.html").render(report=report, pictures=pictures)


def render_examples(report: "ExampleReport", pictures: Mapping[str, Picture]) -> str:
    """The retrieved examples of models as HTML, everything escaped; without placeholders where no hit has a picture.

    pictures: by item id, one for every hit.
    """
    pictured = any(picture.content for picture in pictures.values())
    return _environment().get_template("examples.html").render(report=report, pictures=pictures, pictured=pictured)


def render_hits(
    query: str,
    scoring: str,
    data: str,
    hits: Sequence[object],
    pictures: Mapping[str, Picture],
    links: Mapping[str, str] = MappingProxyType({}),
    not_known: str = "",
) -> str:
    """The hits of a search as HTML, everything escaped.

    pictures: by item id, one for every hit. links: by item id, where a hit can be watched; only those of http(s) and
    of local files become links. not_known: the words of the query that the model does not know, in a line.
    """
    shown = {item_id: link for item_id, link in links.items() if link.startswith(("http://", "https://", "file://"))}
    values = {"query": query, "scoring": scoring, "data": data, "hits": hits, "pictures": pictures, "links": shown}
    values["not_known"] = not_known
    return _environment().get_template("hits.html").render(values)


def render_search(**values: object) -> str:
    """The page of search, which gets its data as JSON from the server."""
    return _environment().get_template("search.html").render(**values)


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = page_environment("vtr_core.retrieval")
    environment.filters.update(percent=percent, described=described, sized=sized)
    environment.globals["time_span"] = time_span
    return environment


LEAST_SHOWN = 1.01
"""The activation of a capsule, over its mean, from which on it says anything of an item; below, a page shows ×1.00."""


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
    title: str


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
    queries: Sequence[tuple[str, str | None]],
    options: ExplainOptions,
) -> Examples:
    """The best items of a data set for each query, by the similarity that the model is judged by.

    queries: each with the id of its item; without it the items with exactly this caption are relevant. Raises
    InputError for a query without a known word and for an unknown item, DatasetError for data without the model's
    features.
    """
    texts = [text for text, _ in queries]
    clips, scores = _scored(loaded, space, manifest, texts)
    items = list(clips.items)
    ids = [item.item_id for item in items]
    checked = asked_of_items(manifest, queries, ids)
    positions = [best(row, options.hits).tolist() for row in scores]
    shown = {ids[position] for of_query in positions for position in of_query}
    responses = loaded.config.model.system().implementation().responses(loaded, manifest, texts, shown)
    answers = []
    for number, query in enumerate(checked):
        ranks = np.flatnonzero(np.isin(best(scores[number], len(ids)), query.right))
        units = None if responses is None else _Units(responses, number, options.tags)
        hits = tuple(
            _hit(rank, items[position], position in query.right, float(scores[number][position]), units)
            for rank, position in enumerate(positions[number], start=1)
        )
        of_query = () if units is None else units.of_query
        answers.append(ExampleAnswer(int(ranks[0]) + 1 if len(ranks) else None, hits, of_query))
    right = tuple(tuple(ids[position] for position in query.right) for query in checked)
    return Examples(len(ids), right, tuple(answers))


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
    clips = joint_clips(rows, manifest, places)
    if clips is None:
        raise DatasetError(f"{manifest.uri}: no clip has any feature that the model takes; nothing is found")
    return clips, JointItems(clips.vectors, clips.present).scores(vectors, loaded.config.evaluation.similarity)


def asked_of_items(
    manifest: Manifest, queries: Sequence[tuple[str, str | None]], ids: Sequence[str]
) -> list[AskedQuery]:
    """The queries with the positions of their items; without one those with exactly this caption are relevant."""
    position = {item_id: place for place, item_id in enumerate(ids)}
    captions = [(text, position[item_id]) for item_id, text in item_captions(manifest) if item_id in position]
    return asked_queries(queries, ids, [text for text, _ in captions], [place for _, place in captions])


def item_captions(manifest: Manifest) -> list[tuple[str, str]]:
    """The id of an item and a caption, for all captions of a data set of clips, frames or whole videos."""
    item = "video_id" if isinstance(manifest.schema, VideoSchema) else "clip_id"
    column = "caption" if isinstance(manifest.schema, ClipSchema) else "captions"
    reader = RowGroupReader(manifest, [item, column])
    pairs: list[tuple[str, str]] = []
    for place in row_groups(manifest):
        group = reader.read_arrow(place)
        for item_id, texts in zip(group[item].to_pylist(), group[column].to_pylist(), strict=True):
            pairs.extend((item_id, text) for text in ([texts] if column == "caption" else texts))
    return pairs


def _hit(rank: int, item: Item, right: bool, score: float, units: "_Units | None") -> ExampleHit:
    tags = {} if units is None else units.of_item(item.item_id)
    return ExampleHit(rank, item.item_id, item.video_id, right, score, item.caption, item.start, item.end, tags)


class _Units:
    """The units that respond to one query and to its items, as tags, at most `count` of each."""

    def __init__(self, responses: Responses, number: int, count: int) -> None:
        values = responses.texts[number]
        self._responses, self._count = responses, count
        self._strongest = strongest(values, count)
        self.of_query = _tags(responses.names[TEXT], values, self._strongest, self._strongest)

    def of_item(self, item_id: str) -> dict[str, tuple[Tag, ...]]:
        """By modality, the units that respond most to an item; matched where they are the query's, too."""
        return {
            name: _tags(self._responses.names[name], values, strongest(values, self._count), self._strongest)
            for name, values in self._responses.items.get(item_id, {}).items()
        }


def strongest(values: Units, count: int) -> list[int]:
    """The units clearly above their mean that respond most, at most `count`, largest first, ties by number."""
    return [unit for unit in np.argsort(-values, kind="stable")[:count].tolist() if values[unit] >= LEAST_SHOWN]


def _tags(names: Sequence[str], values: Units, chosen: Sequence[int], matched: Collection[int]) -> tuple[Tag, ...]:
    return tuple(Tag(names[unit], float(values[unit]), f"×{values[unit]:.2f}", unit in matched) for unit in chosen)
