"""An index of a model's embeddings: made, extended by further sets, and freed of items."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float32, Int64

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.schema import VideoSchema
from vtr_core.embedding.embedded_rows import EmbeddedRows, model_fingerprint
from vtr_core.embedding.rankings import first_of_clips, visible
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.fingerprint import key64, short
from vtr_core.retrieval.embed.embedding_job import shard_places
from vtr_core.retrieval.embed.stored_embeddings import EmbeddingSet, read_embeddings
from vtr_core.retrieval.index.candidates import build_candidates
from vtr_core.retrieval.index.index import CONCEPTS, Backend, IndexRecord, Kind, PlannedIndex, Shard, VideoIndex
from vtr_core.retrieval.index.items import Items, described
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import DualSpaces, JointSpace, spaces_of

SHARD_ITEMS = 2**20
"""Rows of a shard, where no number of shards is asked for."""
Watch = Callable[[Sequence[RowGroup]], Sequence[RowGroup]]
"""The row groups that are about to be embedded, as they are or telling how far embedding is."""


@dataclass(frozen=True)
class StoredEmbeddings:
    """The embeddings of a data set and where they lie."""

    content: EmbeddingSet
    uri: str


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
    clips = first[np.logical_or.reduce([rows.present[name][first] for name in names])]
    keys = rows.video_key if isinstance(manifest.schema, VideoSchema) else rows.clip_key
    return JointClips(
        items=described(manifest, keys[clips], places),
        vectors={name: np.where(rows.present[name][clips, None], rows.vectors[name][clips], 0) for name in names},
        present={name: rows.present[name][clips] for name in names},
        rows=clips,
    )


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

    Raises ConfigError for a model without vectors to search, for candidates in a space that has no inner product, and
    for an unsuitable number of shards; DatasetError for data without the model's features, and whatever embedding
    raises.
    """
    space = spaces_of(loaded, "an index")
    space.check(loaded.config, manifest)
    if isinstance(space, DualSpaces):
        if shards is not None and shards > 1:
            raise ConfigError("the scores of a dual encoder are scaled over all items; leave out --shards")
        return _dual(loaded, space, manifest, backend, stored, watch)
    record = joint_record(loaded, manifest.uri, manifest.fingerprint, backend)
    parts = list(shard_places(manifest))
    if stored is not None and len(stored.content.shards) != len(parts):
        raise DatasetError(f"{stored.uri} is divided in another way than now; run vtr embed again")
    made = _joint_shards(loaded, space, manifest, backend, stored, parts, _groups(manifest, len(parts), shards), watch)
    return PlannedIndex(record, made, () if space.concept_terms(loaded) is None else loaded.concepts)


def _dual(
    loaded: TrainedModel,
    spaces: DualSpaces,
    manifest: Manifest,
    backend: Backend,
    stored: StoredEmbeddings | None,
    watch: Watch,
) -> PlannedIndex:
    if backend != "exact" and spaces.scoring(loaded).space == "concept":
        raise ConfigError(f"--backend {backend} finds candidates in latent space, which the model does not have")
    if stored is None:
        places = watch(row_groups(manifest))
        rows = spaces.rows(loaded.model, loaded.config, manifest, loaded.vocabulary, places)
    else:
        rows = read_embeddings(stored.content, stored.uri)
    videos = spaces.videos(loaded, manifest, rows).videos
    vectors = {"latent": videos.latent, CONCEPTS: videos.concept}
    tensors = {name: space.numpy() for name, space in vectors.items() if space is not None}
    items = described(manifest, np.array([key64(name) for name in videos.video_id], np.int64))
    record = index_record(loaded, manifest.uri, manifest.fingerprint, "dual", videos.similarity, backend)
    return PlannedIndex(record, iter([new_shard(tensors, items, backend)]), videos.concepts)


def _joint_shards(
    loaded: TrainedModel,
    space: JointSpace,
    manifest: Manifest,
    backend: Backend,
    stored: StoredEmbeddings | None,
    parts: Sequence[Sequence[RowGroup]],
    groups: Sequence[slice],
    watch: Watch,
) -> Iterator[Shard]:
    """A shard of each group of consecutive shards of `vtr embed`; those without anything to find are left out."""
    terms = space.concept_terms(loaded)
    for group in groups:
        places = [place for part in parts[group] for place in part]
        if stored is None:
            rows = space.rows(loaded.model, loaded.config, manifest, loaded.vocabulary, watch(places))
        else:
            rows = read_embeddings(replace(stored.content, shards=stored.content.shards[group]), stored.uri)
        clips = joint_clips(rows, manifest, places)
        if clips is None:
            continue
        tensors = {**clips.vectors, **{f"has_{name}": present for name, present in clips.present.items()}}
        if terms is not None:
            reader = RowGroupReader(manifest, [terms.feature])
            values = np.concatenate([reader.read(place)[terms.feature] for place in places])
            tensors[CONCEPTS] = terms.clips(values[clips.rows]).astype(np.float16)
        yield new_shard(tensors, clips.items, backend)


def _groups(manifest: Manifest, parts: int, shards: int | None) -> list[slice]:
    """Ranges of the parts of a data set, about the same number in each."""
    count = shards or min(parts, math.ceil(manifest.rows / SHARD_ITEMS))
    if not 1 <= count <= parts:
        raise ConfigError(f"--shards is {count}; {manifest.uri} can be divided into 1 to {parts}")
    bounds = [parts * number // count for number in range(count + 1)]
    return [slice(first, end) for first, end in pairwise(bounds)]


def joint_record(loaded: TrainedModel, data: str, data_fingerprint: str, backend: Backend) -> IndexRecord:
    """That of an index of one joint space; ConfigError for candidates in a space that has no inner product."""
    similarity = loaded.config.evaluation.similarity
    if backend != "exact" and similarity != "cosine":
        raise ConfigError(
            f"--backend {backend} finds candidates by cosine, the model compares by {similarity}; use exact"
        )
    return index_record(loaded, data, data_fingerprint, "joint", similarity, backend)


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
    shards = _remaining(index, added.items.table.column("item_id"), "item_id")
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
    names = ("item_id", "video_id")
    deleted = pa.chunked_array([sorted(set(ids))], pa.string())
    known = [pc.is_in(deleted, value_set=index.items.table.column(name)) for name in names]
    unknown = deleted.filter(pc.invert(pc.or_(*known))).to_pylist()
    if unknown:
        more = f" (nor {len(unknown) - 1} others)" if len(unknown) > 1 else ""
        raise ConfigError(f"--delete {unknown[0]}: the index has no such item or video{more}")
    shards = _remaining(index, deleted, *names)
    if not shards:
        raise ConfigError("--delete names every item of the index; delete its folder instead")
    return VideoIndex.of(index.record, *shards, concepts=index.concepts)


def _belong(record: IndexRecord, last: Shard, added: Shard) -> bool:
    small = len(last.items) <= len(added.items) and len(last.items) + len(added.items) <= SHARD_ITEMS
    return small or record.kind == "dual"


def _remaining(index: VideoIndex, ids: pa.ChunkedArray, *columns: str) -> list[Shard]:
    """The shards without the items of which one of the columns is among `ids`, and without those left empty."""
    shards = []
    for shard in index.shards:
        gone = np.logical_or.reduce(
            [pc.is_in(shard.items.table.column(name), value_set=ids).to_numpy() for name in columns]
        )
        if not gone.any():
            shards.append(shard)
        elif not gone.all():
            tensors = {name: tensor[~gone] for name, tensor in shard.tensors.items()}
            items = Items(shard.items.table.filter(pa.array(~gone)))
            shards.append(new_shard(tensors, items, index.record.backend))
    return shards


def new_shard(tensors: dict[str, np.ndarray], items: Items, backend: Backend) -> Shard:
    """A shard with the candidates of `backend`."""
    shard = Shard.of(tensors, items)
    return shard if backend != "ivf-pq" else replace(shard, candidates=build_candidates(searched(shard)))


def merged(first: Shard, second: Shard, backend: Backend) -> Shard:
    """The items of both; a modality that one of them lacks is absent from its items."""
    sizes = {**first.sizes, **second.sizes}
    parts = _with_all(first, sizes), _with_all(second, sizes)
    items = Items(pa.concat_tables([first.items.table, second.items.table], promote_options="default"))
    return new_shard({name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, items, backend)


def searched(shard: Shard) -> Float32[np.ndarray, "items dim"]:
    """The vectors among which candidates are found: latent vectors, or the sums of an item's modalities."""
    if "latent" in shard.tensors:
        return shard.tensors["latent"]
    return np.asarray(sum(shard.tensors[name] for name in shard.modalities), np.float32)


def _with_all(shard: Shard, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """The tensors, with absent modalities for those of `sizes` that the shard lacks."""
    rows = len(shard.items)
    absent = {name: np.zeros((rows, dim), np.float32) for name, dim in sizes.items() if name not in shard.tensors}
    presence = {f"has_{name}": np.zeros(rows, np.bool_) for name in absent}
    return dict(sorted({**shard.tensors, **absent, **presence}.items()))
