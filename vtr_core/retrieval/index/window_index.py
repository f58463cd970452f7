"""The index of a folder's windows: its shards, made of the stored features, and where its hits are seen."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from vtr_core.data.shards.thumbnails import Thumbnail
from vtr_core.errors import ConfigError
from vtr_core.retrieval.index.build import SHARD_ITEMS, PlannedIndex, index_record, stored_concepts, term_names
from vtr_core.retrieval.index.index import Shard, modalities
from vtr_core.retrieval.index.items import Items
from vtr_core.retrieval.index.record import CONCEPTS, Backend
from vtr_core.retrieval.index.shards import new_shard
from vtr_core.retrieval.index.windows import GROUP_ROWS, WindowStore, features_of, in_seconds, item_ids
from vtr_core.storage import Location, locate
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import JointSpace, clip_space_of


def plan_window_index(loaded: TrainedModel, store: WindowStore, videos: str, backend: Backend) -> PlannedIndex:
    """The index of all windows in `store`, of the video files that `videos` gives.

    An item is a window: its id is the file's name, # and the start in seconds; its video is the file. ConfigError for
    candidates in a space that has no inner product.
    """
    space = clip_space_of(loaded, "an index of video files")
    similarity = loaded.config.evaluation.similarity
    if backend != "exact" and similarity != "cosine":
        raise ConfigError(f"--backend {backend} finds candidates by cosine, the model compares by {similarity}")
    record = index_record(loaded, videos, store.fingerprint(), "joint", similarity, backend)
    return PlannedIndex(record, _shards(loaded, space, store, backend), term_names(loaded, space))


def _shards(loaded: TrainedModel, space: JointSpace, store: WindowStore, backend: Backend) -> Iterator[Shard]:
    held: list[tuple[dict[str, np.ndarray], Items]] = []
    for table in store.tables():
        tensors = _tensors(loaded, space, table)
        seen = np.logical_or.reduce([tensors[f"has_{name}"] for name in modalities(tensors)])
        if seen.any():
            held.append(({name: rows[seen] for name, rows in tensors.items()}, _items(table.filter(pa.array(seen)))))
        if sum(len(items) for _, items in held) >= SHARD_ITEMS:
            yield _joined(held, backend)
            held = []
    if held:
        yield _joined(held, backend)


def _joined(parts: list[tuple[dict[str, np.ndarray], Items]], backend: Backend) -> Shard:
    names = parts[0][0]
    tensors = {name: np.concatenate([part[name] for part, _ in parts]) for name in names}
    return new_shard(tensors, Items(pa.concat_tables([items.table for _, items in parts])), backend)


def _tensors(loaded: TrainedModel, space: JointSpace, table: pa.Table) -> dict[str, np.ndarray]:
    """The vectors of a part's windows by modality, which of them there are, and z where the model names concepts."""
    assert space.arrays is not None, "models of clips encode given features"
    held = features_of(table)
    wanted = loaded.config.model.inputs.features
    given = {name: held.get(name, [None] * len(table)) for name in wanted}
    encoded = space.arrays(loaded, given)
    tensors = {**encoded.vectors, **{f"has_{name}": present for name, present in encoded.present.items()}}
    terms = space.concept_terms(loaded)
    if terms is None:
        return tensors
    nothing = np.zeros(wanted[terms.feature], np.float16)
    values = np.stack([nothing if row is None else row for row in given[terms.feature]])
    return {**tensors, CONCEPTS: stored_concepts(terms, values)}


def _items(table: pa.Table) -> Items:
    nothing = pa.nulls(len(table), pa.string())
    file, start, end = (table.column(name) for name in ("file", "start", "end"))
    names = ["item_id", "video_id", "start", "end", "caption"]
    return Items(pa.table([pa.array(item_ids(table), pa.string()), file, start, end, nothing], names=names))


@dataclass
class WindowFrames:
    """The pictures of windows, and where they are seen, by id; parts are scanned lazily; thread-safe."""

    store: WindowStore
    _places: dict[str, tuple[Location, int]] = field(default_factory=dict)
    """Part and row of each scanned id."""
    _scanned: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    def find(self, ids: Iterable[str]) -> dict[str, Thumbnail]:
        """The pictures that there are."""
        rows = self._rows(ids)
        return {
            item_id: Thumbnail(item_id, row["start"], row["end"], row["jpeg"])
            for item_id, row in rows.items()
            if row["jpeg"] is not None
        }

    def links(self, ids: Iterable[str]) -> dict[str, str]:
        """The address of each window: its file's, with the seconds from start to end as a media fragment (W3C)."""
        return {
            item_id: f"{_address(row['uri'])}#t={in_seconds(row['start'])},{in_seconds(row['end'])}"
            for item_id, row in self._rows(ids).items()
        }

    def _rows(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        wanted = dict.fromkeys(ids)
        with self._lock:
            for part in reversed(self.store.parts()):
                if wanted.keys() <= self._places.keys():
                    break
                if part.name not in self._scanned:
                    self._scanned.add(part.name)
                    for row, item_id in enumerate(self.store.ids(part)):
                        self._places.setdefault(item_id, (part, row))
            places = {item_id: self._places[item_id] for item_id in wanted if item_id in self._places}
        groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for part, row in places.values():
            group = row // GROUP_ROWS
            if (part.name, group) not in groups:
                groups[part.name, group] = self.store.pictures(part, group).to_pylist()
        return {
            item_id: groups[part.name, row // GROUP_ROWS][row % GROUP_ROWS] for item_id, (part, row) in places.items()
        }


def _address(uri: str) -> str:
    """A video's URI for a browser: that of a local file begins with file://, and its name is quoted."""
    place = locate(uri)
    return Path(place.path).absolute().as_uri() if place.is_local else uri
