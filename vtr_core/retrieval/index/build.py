"""An index of a model's embeddings: made, extended by further sets, and freed of items."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float16, Float32, Int64, Num

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.schema import VideoSchema
from vtr_core.embedding.embedded_rows import EmbeddedRows, model_fingerprint
from vtr_core.embedding.rankings import visible
from vtr_core.embedding.scoring import first_of_clips
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.fingerprint import key64, short
from vtr_core.retrieval.embed.embedding_job import shard_places
from vtr_core.retrieval.embed.stored_embeddings import EmbeddingSet, read_embeddings
from vtr_core.retrieval.index.index import Shard, VideoIndex
from vtr_core.retrieval.index.items import Items, described
from vtr_core.retrieval.index.record import CONCEPTS, Backend, IndexRecord, Kind
from vtr_core.retrieval.index.shards import merged, new_shard, selected
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import ConceptTerms, DualSpaces, JointSpace, spaces_of


@dataclass(frozen=True)
class JointClips:
    """The searched clips without duplicates, with vectors by modality."""

    items: Items
    vectors: dict[str, Float32[np.ndarray, "clips dim"]]
    present: dict[str, Bool[np.ndarray, " clips"]]
    rows: Int64[np.ndarray, " clips"]
    """The row of each clip among those that were embedded."""


def joint_clips(rows: EmbeddedRows, manifest: Manifest, places: Sequence[RowGroup]) -> JointClips | None:
    """The clips with any modality beside text of `rows`, which are all rows of some row groups in file order.

    In data sets of whole videos the video is the clip. None where no clip has a modality.
    """
    names = visible(rows)
    if not names:
        return None
    first = first_of_clips(rows)
    kept = first[np.logical_or.reduce([rows.present[name][first] for name in names])]
    keys = rows.video_key if isinstance(manifest.schema, VideoSchema) else rows.clip_key
    return JointClips(
        items=described(manifest, keys[kept], places),
        vectors={name: np.where(rows.present[name][kept, None], rows.vectors[name][kept], 0) for name in names},
        present={name: rows.present[name][kept] for name in names},
        rows=kept,
    )


Watch = Callable[[Sequence[RowGroup]], Sequence[RowGroup]]
"""The row groups that are about to be embedded, as they are or telling how far embedding is."""
SHARD_ITEMS = 2**20
"""Rows of a shard, where no number of shards is asked for."""


@dataclass(frozen=True)
class StoredEmbeddings:
    """The embeddings of a data set and where they lie."""

    content: EmbeddingSet
    uri: str


@dataclass(frozen=True)
class PlannedIndex:
    """An index that is built shard by shard: one is held in memory at a time."""

    record: IndexRecord
    """Without sizes and items, which the shards tell."""
    shards: Iterator[Shard]
    concepts: tuple[str, ...] = ()

    def whole(self) -> VideoIndex:
        """All shards in memory; DatasetError where there is nothing to find."""
        shards = tuple(self.shards)
        if not shards:
            raise DatasetError(f"{self.record.data}: no clip has any feature that the model takes; nothing is found")
        return VideoIndex.of(self.record, *shards, concepts=self.concepts)


def build_index(loaded: TrainedModel, manifest: Manifest, backend: Backend) -> VideoIndex:
    """The whole index in memory, see `plan_index`."""
    return plan_index(loaded, manifest, backend).whole()


def plan_index(
    loaded: TrainedModel,
    manifest: Manifest,
    backend: Backend,
    stored: StoredEmbeddings | None = None,
    shards: int | None = None,
    watch: Watch = list,
) -> PlannedIndex:
    """The index of `manifest`, of the whole videos or clips that the model reads.

    stored: the embeddings of the data set, where they are already computed. shards: how many (None: one of each
    SHARD_ITEMS rows). watch: is given the row groups before they are embedded.

    Raises ConfigError for a model without vectors to search, for candidates in a space that has no
    inner product, and for an unsuitable number of shards; DatasetError for data without the model's features, and
    whatever embedding raises.
    """
    match spaces_of(loaded, "an index"):
        case DualSpaces() as spaces:
            if shards is not None and shards > 1:
                raise ConfigError("the scores of a dual encoder are scaled over all items; leave out --shards")
            return _dual(loaded, spaces, manifest, backend, stored, watch)
        case JointSpace() as space:
            space.check(loaded.config, manifest)
            similarity = loaded.config.evaluation.similarity
            if backend != "exact" and similarity != "cosine":
                raise ConfigError(
                    f"--backend {backend} finds candidates by cosine, the model compares by {similarity}; use exact"
                )
            record = index_record(loaded, manifest.uri, manifest.fingerprint, "joint", similarity, backend)
            parts = _Joint(loaded, space, manifest, backend, stored, watch).shards(shards)
            return PlannedIndex(record, parts, term_names(loaded, space))


def _dual(
    loaded: TrainedModel,
    spaces: DualSpaces,
    manifest: Manifest,
    backend: Backend,
    stored: StoredEmbeddings | None,
    watch: Watch,
) -> PlannedIndex:
    spaces.check(loaded.config, manifest)
    if backend != "exact" and not spaces.has_latent(loaded.config):
        raise ConfigError(f"--backend {backend} finds candidates in latent space, which the model does not have")
    if stored is None:
        places = watch(row_groups(manifest))
        rows = spaces.rows(loaded.model, loaded.config, manifest, loaded.vocabulary, places)
    else:
        rows = read_embeddings(stored.content, stored.uri)
    videos = spaces.videos(loaded, manifest, rows).videos
    vectors = {"latent": videos.latent, "concept": videos.concept}
    tensors = {name: space.numpy() for name, space in vectors.items() if space is not None}
    items = described(manifest, np.array([key64(name) for name in videos.video_id], np.int64))
    record = index_record(loaded, manifest.uri, manifest.fingerprint, "dual", videos.similarity, backend)
    return PlannedIndex(record, iter([new_shard(tensors, items, backend)]), videos.concepts)


@dataclass(frozen=True)
class _Joint:
    """What the shards of a model with one joint space are made of."""

    loaded: TrainedModel
    space: JointSpace
    manifest: Manifest
    backend: Backend
    stored: StoredEmbeddings | None
    watch: Watch

    def shards(self, count: int | None) -> Iterator[Shard]:
        """Shards of consecutive shards of `vtr embed`; those without anything to find are left out."""
        parts = list(shard_places(self.manifest))
        if self.stored is not None and len(self.stored.content.shards) != len(parts):
            raise DatasetError(f"{self.stored.uri} is divided in another way than now; run vtr embed again")
        return filter(None, (self._shard(parts, group) for group in _groups(self.manifest, len(parts), count)))

    def _shard(self, parts: Sequence[Sequence[RowGroup]], group: slice) -> Shard | None:
        places = [place for part in parts[group] for place in part]
        clips = joint_clips(self._rows(group, places), self.manifest, places)
        if clips is None:
            return None
        presence = {f"has_{name}": present for name, present in clips.present.items()}
        terms = self.space.concept_terms(self.loaded)
        concepts = {} if terms is None else {CONCEPTS: self._concepts(terms, places, clips.rows)}
        return new_shard({**clips.vectors, **presence, **concepts}, clips.items, self.backend)

    def _concepts(
        self, terms: ConceptTerms, places: Sequence[RowGroup], rows: Int64[np.ndarray, " clips"]
    ) -> Float16[np.ndarray, "clips concepts"]:
        """z of the clips in these rows of the row groups."""
        reader = RowGroupReader(self.manifest, [terms.feature])
        values = np.concatenate([reader.read(place)[terms.feature] for place in places])
        return stored_concepts(terms, values[rows])

    def _rows(self, group: slice, places: Sequence[RowGroup]) -> EmbeddedRows:
        loaded, stored = self.loaded, self.stored
        if stored is None:
            watched = self.watch(places)
            return self.space.rows(loaded.model, loaded.config, self.manifest, loaded.vocabulary, watched)
        return read_embeddings(replace(stored.content, shards=stored.content.shards[group]), stored.uri)


def _groups(manifest: Manifest, parts: int, shards: int | None) -> list[slice]:
    """Ranges of the parts of a data set, about the same number in each."""
    rows = sum(sum(group) for shard in manifest.shards for group in shard.row_groups)
    count = shards or min(parts, math.ceil(rows / SHARD_ITEMS))
    if not 1 <= count <= parts:
        raise ConfigError(f"--shards is {count}; {manifest.uri} can be divided into 1 to {parts}")
    bounds = [parts * number // count for number in range(count + 1)]
    return [slice(first, end) for first, end in pairwise(bounds)]


def term_names(loaded: TrainedModel, space: JointSpace) -> tuple[str, ...]:
    """The concepts that an index of the model keeps z of."""
    return () if space.concept_terms(loaded) is None else loaded.concepts


def stored_concepts(
    terms: ConceptTerms, values: Num[np.ndarray, "clips values"]
) -> Float16[np.ndarray, "clips concepts"]:
    """z of clips as an index keeps it."""
    return terms.clips(values).astype(np.float16)


def index_record(
    loaded: TrainedModel, data: str, data_fingerprint: str, kind: Kind, similarity: str, backend: Backend
) -> IndexRecord:
    """The record of an index before its shards are known."""
    return IndexRecord(
        kind=kind,
        checkpoint=loaded.uri,
        model_fingerprint=model_fingerprint(loaded.model),
        preset=loaded.config.preset,
        data=data,
        data_fingerprint=data_fingerprint,
        num_items=0,
        sizes={},
        similarity=similarity,
        latent_weight=loaded.config.evaluation.latent_weight,
        backend=backend,
    )


_NAMES = ("item_id", "video_id")


def check_extends(record: IndexRecord, added: IndexRecord) -> None:
    """DatasetError unless both indexes are of the same model, compared alike."""
    if record.model_fingerprint != added.model_fingerprint or record.similarity != added.similarity:
        raise DatasetError(
            f"the index is of the model {short(record.model_fingerprint)}, compared by {record.similarity}, the "
            f"checkpoint is {short(added.model_fingerprint)}, compared by {added.similarity}: their vectors cannot be "
            "compared; give the index's own checkpoint, or make a new index"
        )


def extended(index: VideoIndex, added: VideoIndex, both: Manifest) -> VideoIndex:
    """`index` with the items of `added` after its own, of which those with the same ids are replaced.

    both: the data sets of the two, joined. An added shard is merged with the last ones that are not larger, so that
    their number grows with the logarithm of the items however often items are added; with a dual encoder's always.
    """
    check_extends(index.record, added.record)
    ids = added.items.table.column("item_id")
    shards = _kept(index, [_among(shard, ids, "item_id") for shard in index.shards])
    for shard in added.shards:
        last = shard
        while shards and _belong(index.record, shards[-1], last):
            last = merged(shards.pop(), last, index.record.backend)
        shards.append(last)
    record = replace(index.record, data=both.uri, data_fingerprint=both.fingerprint)
    return VideoIndex.of(record, *shards, concepts=index.concepts)


def without(index: VideoIndex, ids: Collection[str]) -> VideoIndex:
    """`index` without the items with these ids, and without the clips of videos with these ids.

    ConfigError for an id that is neither, and where no item would be left.
    """
    asked = pa.chunked_array([sorted(set(ids))], pa.string())
    known = [pc.is_in(asked, value_set=index.items.table.column(name)) for name in _NAMES]
    unknown = asked.filter(pc.invert(pc.or_(*known))).to_pylist()
    if unknown:
        others = f" (nor {len(unknown) - 1} others)" if len(unknown) > 1 else ""
        raise ConfigError(f"--delete {unknown[0]}: the index has no such item or video{others}")
    kept = _kept(index, [_among(shard, asked, *_NAMES) for shard in index.shards])
    if not kept:
        raise ConfigError("--delete names every item of the index; delete its folder instead")
    return VideoIndex.of(index.record, *kept, concepts=index.concepts)


def _belong(record: IndexRecord, last: Shard, added: Shard) -> bool:
    small = len(last.items) <= len(added.items) and len(last.items) + len(added.items) <= SHARD_ITEMS
    return small or record.kind == "dual"


def _among(shard: Shard, ids: pa.ChunkedArray, *columns: str) -> Bool[np.ndarray, " items"]:
    """The items of which one of the columns is among `ids`."""
    found = [pc.is_in(shard.items.table.column(name), value_set=ids).to_numpy() for name in columns]
    return np.logical_or.reduce(found).astype(np.bool_)


def _kept(index: VideoIndex, gone: Sequence[Bool[np.ndarray, " _items"]]) -> list[Shard]:
    """The shards without the items of the masks, and without shards that are left empty."""
    parts = zip(index.shards, gone, strict=True)
    return [kept for shard, mask in parts if (kept := selected(shard, ~mask, index.record.backend)) is not None]
