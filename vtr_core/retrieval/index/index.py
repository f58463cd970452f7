"""Index: the vectors of a data set's videos in files, with a record of model and data.

Files: `vectors.safetensors`, `items.json`, optionally `candidates.faiss`, and `index.json`, which is written last: a
folder without it is no index. Nothing is unpickled.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import Any, Literal

import numpy as np
import safetensors.numpy
import torch
from torch import Tensor, nn

from vtr_core import storage
from vtr_core.config.record import record
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.json_text import parse_json
from vtr_core.storage import Location, is_file_name

MARKER, VECTORS, ITEMS, CANDIDATES = "index.json", "vectors.safetensors", "items.json", "candidates.faiss"
VERSION = 1

Backend = Literal["exact", "faiss"]
Kind = Literal["dual", "joint"]


@dataclass(frozen=True)
class StoredFile:
    """A file of the index."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class IndexRecord:
    """The content of `index.json`: kind, model, data and files of an index."""

    kind: Kind
    """dual: latent vectors and concept scores of a dual encoder; joint: vectors of one joint space by modality."""
    checkpoint: str
    model_fingerprint: str
    preset: str
    data: str
    data_fingerprint: str
    num_items: int
    sizes: dict[str, int]
    """Dimensions by tensor."""
    similarity: str
    """dual: similarity of concept scores, while latent vectors are compared by cosine; joint: of the vectors."""
    latent_weight: float
    backend: Backend = "exact"
    files: dict[str, StoredFile] = field(default_factory=dict)
    version: int = VERSION

    def to_json(self) -> dict[str, Any]:
        """The record with its fingerprint."""
        return {**asdict(self), "fingerprint": fingerprint(asdict(self))}


@dataclass(frozen=True)
class Item:
    """An indexed video, or a clip of one."""

    item_id: str
    video_id: str
    start: float | None = None
    end: float | None = None
    """Start and end of a clip in its video, in seconds."""


@dataclass(frozen=True)
class VideoIndex:
    """An index in memory; row i of every tensor is item i."""

    record: IndexRecord
    tensors: dict[str, np.ndarray]
    items: tuple[Item, ...]
    concepts: tuple[str, ...] = ()
    candidates: bytes | None = None
    """The faiss graph of the vectors in serialised form."""


def model_fingerprint(model: nn.Module) -> str:
    """sha256 of the names and bytes of all weights, independent of the checkpoint's location."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(_bytes(tensor))
    return digest.hexdigest()


def _bytes(tensor: Tensor) -> bytes:
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def save_index(location: Location, index: VideoIndex) -> IndexRecord:
    """Write an index, replacing an existing one, atomically for readers; returns the record with its files."""
    items = {"items": [list(astuple(item)) for item in index.items], "concepts": list(index.concepts)}
    content = {
        VECTORS: safetensors.numpy.save({name: np.ascontiguousarray(v) for name, v in index.tensors.items()}),
        ITEMS: (json.dumps(items) + "\n").encode(),
    }
    if index.candidates is not None:
        content[CANDIDATES] = index.candidates
    storage.delete_file(location / MARKER)
    for name, stored in content.items():
        storage.write_bytes(location / name, stored)
    files = {name: StoredFile(len(stored), hashlib.sha256(stored).hexdigest()) for name, stored in content.items()}
    found = replace(index.record, files=files)
    storage.write_json(location / MARKER, found.to_json())
    return found


def load_record(location: Location) -> IndexRecord:
    """The record of the index at `location`; DatasetError where it is missing or damaged."""
    storage.check_readable(location)
    if not storage.exists(location / MARKER):
        raise DatasetError(
            f"{location} is not an index: it has no {MARKER}; make one with vtr index <checkpoint> --data <URI> "
            f"--out {location}"
        )
    value = storage.read_json(location / MARKER)
    if isinstance(value, dict) and value.get("version") not in (None, VERSION):
        raise DatasetError(f"{location} is an index of version {value['version']}, this code reads {VERSION}")
    try:
        found = record(IndexRecord, {**value, "files": {n: record(StoredFile, f) for n, f in value["files"].items()}})
        if value.get("fingerprint") != fingerprint(asdict(found)):
            raise ValueError("it does not match its fingerprint")
        if not {VECTORS, ITEMS} <= found.files.keys() or not all(map(is_file_name, found.files)):
            raise ValueError("its files are not those of an index")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(location / MARKER, error) from error
    return found


def load_index(location: Location) -> VideoIndex:
    """The index at `location`, with its files' hashes checked; DatasetError where it is missing or damaged."""
    found = load_record(location)
    content = {name: _read(location / name, stored) for name, stored in found.files.items()}
    try:
        tensors = safetensors.numpy.load(content[VECTORS])
        listed = parse_json(content[ITEMS])
        items = tuple(_item(*item) for item in listed["items"])
        index = VideoIndex(found, tensors, items, tuple(map(str, listed["concepts"])), content.get(CANDIDATES))
        _check_rows(index)
    except Exception as error:  # whatever the parsers meet in a file that someone else made
        raise _damaged(location, error) from error
    return index


def _item(item_id: object, video_id: object, *times: float | None) -> Item:
    """An item from its entry in `items.json`; older indexes have no times."""
    return Item(str(item_id), str(video_id), *(None if time is None else float(time) for time in times))


def _check_rows(index: VideoIndex) -> None:
    """ValueError where tensors, items and record are inconsistent."""
    rows = {name: len(tensor) for name, tensor in index.tensors.items()}
    if set(rows.values()) != {len(index.items)} or len(index.items) != index.record.num_items:
        raise ValueError(f"it lists {len(index.items)} items, its tensors hold {rows}")
    found = sizes(index.tensors)
    if found != index.record.sizes or not found:
        raise ValueError(f"its tensors have the sizes {found}, its record says {index.record.sizes}")
    if index.record.kind == "dual" and len(index.concepts) != found.get("concept", 0):
        raise ValueError(f"it names {len(index.concepts)} concepts and scores {found.get('concept', 0)}")


def _read(location: Location, stored: StoredFile) -> bytes:
    if not storage.exists(location):
        raise DatasetError(f"{location} is missing though the index lists it; run vtr index again")
    content = storage.read_bytes(location)
    if len(content) != stored.bytes or hashlib.sha256(content).hexdigest() != stored.sha256:
        raise _damaged(location, "its sha256 differs")
    return content


def _damaged(location: Location, fault: object) -> DatasetError:
    return DatasetError(f"{location} is damaged ({fault}); run vtr index again")


def sizes(tensors: Mapping[str, np.ndarray]) -> dict[str, int]:
    """The dimensions of the matrices among the tensors, by name."""
    return {name: int(tensor.shape[1]) for name, tensor in tensors.items() if tensor.ndim == 2}
