"""The record of an index, `index.json`: which model, which data, and the files of each shard."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from vtr_core import storage
from vtr_core.config.settings import record
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import Location, is_file_name

MARKER, ITEMS, CANDIDATES, KEYS, ORDER = "index.json", "items", "candidates", "id_keys", "id_order"
VERSION = 3
CONCEPTS = "concept"
"""The tensor of concept scores (dual), or of z of the concepts that explain a similarity (joint)."""

Approximate = Literal["hnsw", "ivf-pq"]
Backend = Literal["exact"] | Approximate
Kind = Literal["dual", "joint"]


@dataclass(frozen=True)
class StoredFile:
    """A file of the index."""

    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class StoredShard:
    """Consecutive items of the index, in files of their own."""

    num_items: int
    files: dict[str, StoredFile]
    """By the name of a tensor, or `items`, `candidates`, `id_keys`, `id_order`."""


@dataclass(frozen=True)
class IndexRecord:
    """The content of `index.json`: kind, model, data and shards of an index."""

    kind: Kind
    """dual: latent vectors and concept scores of a dual encoder; joint: vectors of one joint space by modality."""
    checkpoint: str
    model_fingerprint: str
    preset: str
    data: str
    data_fingerprint: str
    num_items: int
    sizes: dict[str, int]
    """Dimensions by tensor, of all shards together: one may lack a modality."""
    similarity: str
    """dual: similarity of concept scores, while latent vectors are compared by cosine; joint: of the vectors."""
    latent_weight: float
    backend: Backend = "exact"
    concepts: tuple[str, ...] = ()
    shards: tuple[StoredShard, ...] = ()
    revision: int = 1
    """Number of times that the index was written."""
    version: int = VERSION

    def to_json(self) -> dict[str, Any]:
        """The record with its fingerprint."""
        value = {**asdict(self), "concepts": list(self.concepts), "shards": [asdict(shard) for shard in self.shards]}
        return {**value, "fingerprint": fingerprint(value)}

    @property
    def files(self) -> tuple[StoredFile, ...]:
        """The files of all shards."""
        return tuple(file for shard in self.shards for file in shard.files.values())


def load_record(location: Location) -> IndexRecord:
    """The record of the index at `location`; DatasetError where it is missing, of another version or damaged."""
    storage.check_readable(location)
    if not storage.exists(location / MARKER):
        raise DatasetError(
            f"{location} is not an index: it has no {MARKER}; make one with vtr index <videos> --out {location}, "
            f"or vtr index <checkpoint> --data <URI> --out {location}"
        )
    value = storage.read_json(location / MARKER)
    if isinstance(value, dict) and value.get("version") not in (None, VERSION):
        raise DatasetError(
            f"{location} is an index of version {value['version']}, this code reads {VERSION}; make it anew with "
            f"vtr index {value.get('checkpoint', '<checkpoint>')} --data {value.get('data', '<URI>')} --out {location}"
        )
    try:
        shards = tuple(map(_shard, value["shards"]))
        found = record(IndexRecord, {**value, "shards": shards, "concepts": tuple(map(str, value["concepts"]))})
        _check(found, value.get("fingerprint"))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise damaged(location / MARKER, error) from error
    return found


def _shard(value: Any) -> StoredShard:
    files = {name: record(StoredFile, file) for name, file in value["files"].items()}
    return record(StoredShard, {**value, "files": files})


def _check(found: IndexRecord, expected: object) -> None:
    """ValueError for a record that was changed, or is of no index."""
    if expected != found.to_json()["fingerprint"]:
        raise ValueError("it does not match its fingerprint")
    if not all({ITEMS, KEYS, ORDER} < shard.files.keys() for shard in found.shards) or not found.shards:
        raise ValueError("its files are not those of an index")
    if not all(is_file_name(stored.file) for stored in found.files):
        raise ValueError("a file is not in its folder")


def damaged(location: Location, fault: object) -> DatasetError:
    """The error for a file, or a folder, that is not as it was written."""
    return DatasetError(f"{location} is damaged ({fault}); run vtr index again")
