"""Changes of an index without embedding its items again: items are added, replaced and deleted."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float32

from vtr_core.data.manifest import Manifest
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.fingerprint import short
from vtr_core.retrieval.index.faiss import build_graph, extended_graph
from vtr_core.retrieval.index.index import IndexRecord, VideoIndex, sizes
from vtr_core.retrieval.index.items import Items


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

    both: the data sets of the two, joined. A modality that one of them lacks is absent from its items.
    """
    check_extends(index.record, added.record)
    ids = set(_texts(added, "item_id"))
    again = np.array([name in ids for name in _texts(index, "item_id")], bool)
    kept = _selected(index, ~again) if again.any() else index
    names = {**index.record.sizes, **added.record.sizes}
    first, second = _with_all(kept, names), _with_all(added, names)
    tensors = {name: np.concatenate([first[name], second[name]]) for name in first}
    candidates = None
    if index.record.backend == "faiss":
        graph = None if again.any() else index.candidates
        candidates = build_graph(searched(tensors)) if graph is None else extended_graph(graph, searched(second))
    table = pa.concat_tables([_table(kept), _table(added)], promote_options="default")
    record = replace(index.record, data=both.uri, data_fingerprint=both.fingerprint)
    return _changed(replace(index, record=record), tensors, Items(table), candidates)


def without(index: VideoIndex, ids: Collection[str]) -> VideoIndex:
    """`index` without the items with these ids, and without the clips of videos with these ids.

    ConfigError for an id that is neither, and where no item would be left.
    """
    asked = set(ids)
    of_items, of_videos = _texts(index, "item_id"), _texts(index, "video_id")
    unknown = sorted(asked - set(of_items) - set(of_videos))
    if unknown:
        raise ConfigError(f"--delete {unknown[0]}: the index has no such item or video (nor {len(unknown) - 1} others)")
    kept = np.array([item not in asked and video not in asked for item, video in zip(of_items, of_videos, strict=True)])
    if not kept.any():
        raise ConfigError("--delete names every item of the index; delete its folder instead")
    return _selected(index, kept)


def searched(tensors: dict[str, np.ndarray]) -> Float32[np.ndarray, "items dim"]:
    """The vectors of which a graph finds candidates: latent vectors, or the sums of an item's modalities."""
    if "latent" in tensors:
        return tensors["latent"]
    whole = np.stack([tensors[name] for name in sizes(tensors)]).sum(axis=0, dtype=np.float32)
    return np.asarray(whole)


def _selected(index: VideoIndex, kept: Bool[np.ndarray, " items"]) -> VideoIndex:
    tensors = {name: tensor[kept] for name, tensor in index.tensors.items()}
    candidates = build_graph(searched(tensors)) if index.record.backend == "faiss" else None
    return _changed(index, tensors, Items(_table(index).filter(pa.array(kept))), candidates)


def _changed(index: VideoIndex, tensors: dict[str, np.ndarray], items: Items, candidates: bytes | None) -> VideoIndex:
    record = replace(index.record, num_items=len(items), sizes=sizes(tensors))
    return replace(index, record=record, tensors=tensors, items=items, candidates=candidates)


def _with_all(index: VideoIndex, names: dict[str, int]) -> dict[str, np.ndarray]:
    """The tensors, with absent modalities for those of `names` that the index lacks."""
    rows = len(index.items)
    absent = {name: np.zeros((rows, dim), np.float32) for name, dim in names.items() if name not in index.tensors}
    presence = {f"has_{name}": np.zeros(rows, np.bool_) for name in absent}
    found = {**index.tensors, **absent, **presence}
    return {name: found[name] for name in sorted(found)}


def _table(index: VideoIndex) -> pa.Table:
    return (index.items if isinstance(index.items, Items) else Items.of(index.items)).table


def _texts(index: VideoIndex, column: str) -> list[str]:
    return [str(text) for text in _table(index).column(column).to_pylist()]
