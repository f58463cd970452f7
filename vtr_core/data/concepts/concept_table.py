"""The concept table of a corpus: its ranked concepts, and how often each video's captions mention them."""

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float32, Int64
from scipy.sparse import csr_array, vstack

from vtr_core import storage
from vtr_core.config.data_sets import LabelCount, StopWords
from vtr_core.config.override import record
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import fingerprint, short
from vtr_core.storage import Location, is_file_name, locate
from vtr_core.storage.bounded_tables import COMPRESSED, check_parquet
from vtr_core.text.tagging.tagger import Part

SCHEMA = pa.schema(
    [
        pa.field("video_key", pa.int64(), nullable=False),
        pa.field("largest", pa.int32(), nullable=False),
        pa.field("concepts", pa.list_(pa.int32()), nullable=False),
        pa.field("counts", pa.list_(pa.int32()), nullable=False),
        pa.field("ambiguous", pa.list_(pa.int64()), nullable=False),
    ]
)
"""One row per video. `largest` counts concepts outside the ranked names, too; `ambiguous` are keys of captions."""


@dataclass(frozen=True)
class ConceptCounts:
    """`counts` has a row for each video and a column for each ranked name: how often its captions count it."""

    video_key: Int64[np.ndarray, " videos"]
    largest: Int64[np.ndarray, " videos"]
    """The largest count of a video over all its kept concepts, 0 where it has none."""
    counts: csr_array
    ambiguous: Int64[np.ndarray, " captions"]
    """Keys of the captions that hold an ambiguous word, ascending, each once."""

    @classmethod
    def from_kept(
        cls,
        video_key: Sequence[int],
        mentions: Sequence[Mapping[str, int]],
        names: Sequence[str],
        ambiguous: Sequence[int] = (),
    ) -> "ConceptCounts":
        """Of the kept counts of each video by name; concepts that are not among `names` only count for `largest`."""
        numbers = {name: number for number, name in enumerate(names)}
        inside = [[(numbers[name], n) for name, n in counts.items() if name in numbers] for counts in mentions]
        entries = np.array([entry for counts in inside for entry in counts], np.int64).reshape(-1, 2)
        bounds = np.cumsum([0, *map(len, inside)], dtype=np.int64)
        return cls(
            np.array(video_key, np.int64),
            np.array([max(counts.values(), default=0) for counts in mentions], np.int64),
            csr_array((entries[:, 1], entries[:, 0], bounds), (len(mentions), len(names))),
            np.unique(np.array(ambiguous, np.int64)),
        )

    @classmethod
    def join(cls, parts: Sequence["ConceptCounts"]) -> "ConceptCounts":
        """The videos of several data sets together, ascending by key; a video that stands in two counts once."""
        keys, first = np.unique(np.concatenate([part.video_key for part in parts]), return_index=True)
        return cls(
            keys,
            np.concatenate([part.largest for part in parts])[first],
            vstack([part.counts for part in parts], format="csr")[first],
            np.unique(np.concatenate([part.ambiguous for part in parts])),
        )

    def to_bytes(self) -> bytes:
        """The Parquet file. The ambiguous captions stand in the first row."""
        offsets = pa.array(self.counts.indptr, pa.int32())
        first_row = [self.ambiguous.tolist(), *([] for _ in range(len(self.video_key) - 1))]
        columns = [
            pa.array(self.video_key),
            pa.array(self.largest, pa.int32()),
            pa.ListArray.from_arrays(offsets, pa.array(self.counts.indices, pa.int32())),
            pa.ListArray.from_arrays(offsets, pa.array(self.counts.data, pa.int32())),
            pa.array(first_row[: len(self.video_key)], pa.list_(pa.int64())),
        ]
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_arrays(columns, schema=SCHEMA), sink, compression="zstd")
        return sink.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, num_names: int) -> "ConceptCounts":
        """What `to_bytes` wrote of so many names; ValueError (or an ArrowException, which is one) for anything else."""
        file = pq.ParquetFile(pa.BufferReader(content))
        check_parquet(pa.BufferReader(content), file.metadata, range(file.num_row_groups), ratio=COMPRESSED)
        if file.schema_arrow.remove_metadata() != SCHEMA.remove_metadata():
            raise ValueError(f"its columns are {', '.join(file.schema_arrow.names)}")
        table = file.read()
        lengths = table.column("concepts").combine_chunks().value_lengths().to_numpy(zero_copy_only=False)
        if not table.column("counts").combine_chunks().value_lengths().equals(pa.array(lengths, pa.int32())):
            raise ValueError("its concepts and counts do not go together")
        concepts, counts = (_int64(table.column(name).combine_chunks().flatten()) for name in ("concepts", "counts"))
        matrix = csr_array((counts, concepts, np.cumsum([0, *lengths.tolist()])), (len(lengths), num_names))
        matrix.check_format(full_check=True)
        return cls(
            _int64(table.column("video_key")),
            _int64(table.column("largest")),
            matrix,
            _int64(table.column("ambiguous").combine_chunks().flatten()),
        )


def _int64(column: pa.Array | pa.ChunkedArray) -> Int64[np.ndarray, " values"]:
    return np.asarray(column.to_numpy(), np.int64)


FILE = "concepts.json"
KIND, VERSION = "concepts", 1
_REMAKE = "make it anew with vtr concepts"


@dataclass(frozen=True)
class CountedSet:
    """A data set whose captions were counted, and the file that holds its counts."""

    uri: str
    fingerprint: str
    videos: int
    captions: int
    min_captions: int
    """Captions of a video that must mention a concept."""
    file: str = ""
    sha256: str = ""


@dataclass(frozen=True)
class TableHead:
    """All of a concept table but its counts."""

    tagger: str
    tagger_fingerprint: str
    parts: tuple[str, ...]
    """Parts of speech that concepts were made of."""
    pos: bool
    """Whether names are `measure/verb`, not `measure`."""
    names: tuple[str, ...]
    """All concepts that videos of the training data keep, by descending frequency."""
    frequency: tuple[int, ...]
    """The sum of each one's kept counts over the videos of the training data."""
    datasets: tuple[CountedSet, ...]
    stop_words: StopWords = "short"
    """The list of words that name no concept."""
    count: LabelCount = "captions"
    """What the counts are of; tables that do not say are older, and count captions."""
    training: tuple[int, ...] = (0,)
    """The numbers of the data sets whose concepts are ranked."""

    @property
    def letters(self) -> str:
        """The parts as they are given on a command line."""
        return ",".join(part.letter for part in Part if part.value in self.parts)

    @property
    def fingerprint(self) -> str:
        """Equal for equal content, wherever the data sets lie."""
        content = asdict(replace(self, datasets=tuple(replace(part, uri="") for part in self.datasets)))
        if self.stop_words == "short":  # as older tables have it, which do not say
            del content["stop_words"]
        for name, older in (("count", "captions"), ("training", (0,))):
            if content[name] == older:
                del content[name]
        return fingerprint(content)

    def to_json(self) -> dict[str, Any]:
        """The content of `concepts.json`."""
        return {"kind": KIND, "version": VERSION, **asdict(self), "fingerprint": self.fingerprint}

    @classmethod
    def from_json(cls, value: Any) -> "TableHead":
        """What `to_json` wrote; ValueError for anything else."""
        if (value["kind"], value["version"]) != (KIND, VERSION):
            raise ValueError(f"it is {value['kind']}/{value['version']}, this code reads {KIND}/{VERSION}")
        parts = tuple(record(CountedSet, part) for part in value["datasets"])
        lists = {name: tuple(value[name]) for name in ("parts", "names", "frequency", "training") if name in value}
        head = record(cls, {**value, **lists, "datasets": parts})
        if head.fingerprint != value["fingerprint"]:
            raise ValueError("it does not match its fingerprint")
        if len(set(head.names)) != len(head.names) or len(head.frequency) != len(head.names) or not head.datasets:
            raise ValueError("its names and frequencies do not go together")
        return head


@dataclass(frozen=True)
class ConceptTable:
    """The ranked concepts of a corpus and the counts of all its videos, in memory."""

    uri: str
    head: TableHead
    counts: ConceptCounts
    """Of all data sets, ascending by key."""

    @property
    def names(self) -> tuple[str, ...]:
        """All concepts, ranked; a vocabulary of K concepts is the first K."""
        return self.head.names

    @cached_property
    def fingerprint(self) -> str:
        """Of names, settings, tagger and counts."""
        return self.head.fingerprint

    def require(self, num_concepts: int) -> None:
        """DatasetError if the corpus offers fewer than `num_concepts` concepts."""
        if num_concepts > len(self.names):
            raise DatasetError(
                f"the captions of {self.head.datasets[0].uri} offer {len(self.names)} concepts, fewer than the "
                f"{num_concepts} asked for; ask for {len(self.names)} or less, or lower --min-captions of vtr concepts "
                f"(now {self.head.datasets[0].min_captions}; table {self.uri})"
            )

    def require_dataset(self, uri: str, dataset_fingerprint: str) -> None:
        """DatasetError unless the captions of the data set with this fingerprint, at `uri`, were counted."""
        known = [part.fingerprint for part in self.head.datasets]
        if dataset_fingerprint not in known:
            shown = ", ".join(f"{part.uri} ({short(part.fingerprint)})" for part in self.head.datasets)
            raise DatasetError(
                f"the concept table {self.uri} was made from {shown}, not from {uri} ({short(dataset_fingerprint)}); "
                f"{_REMAKE} {self.head.datasets[0].uri} {uri}"
            )

    def soft_labels(
        self, video_key: Int64[np.ndarray, " rows"], num_concepts: int
    ) -> Float32[np.ndarray, "rows num_concepts"]:
        """y[v, i] = count[v, i] / largest[v], for each video, which may come twice (Dong et al., TPAMI 2021, sec. 3.3).

        largest: the largest count of a video over *all* its kept concepts, those from `num_concepts` on included, so
        that the labels of a video may all be below 1; a video without concepts has zeros. Raises DatasetError for
        videos that are not in the table, or if the corpus offers fewer concepts.
        """
        self.require(num_concepts)
        place = self._places(video_key)
        largest = np.maximum(self.counts.largest[place], 1)
        counts = self.counts.counts[place][:, :num_concepts].toarray()
        return (counts / largest[:, None]).astype(np.float32)

    def _places(self, video_key: Int64[np.ndarray, " rows"]) -> Int64[np.ndarray, " rows"]:
        keys = self.counts.video_key
        place = np.searchsorted(keys, video_key).clip(max=len(keys) - 1)
        missing = np.unique(video_key[keys[place] != video_key])
        if len(missing):
            raise DatasetError(
                f"{len(missing)} of {len(np.unique(video_key))} videos are not in the concept table {self.uri}, which "
                f"was made from {', '.join(part.uri for part in self.head.datasets)}; {_REMAKE} and all data sets "
                "that are used"
            )
        return place

    @classmethod
    def load(cls, uri: str) -> "ConceptTable":
        """The table at `uri`; DatasetError where there is none or it is damaged."""
        folder = locate(uri)
        storage.check_readable(folder)
        if not storage.exists(folder / FILE):
            raise DatasetError(f"{folder} is not a concept table: it has no {FILE}; make one with vtr concepts")
        value = storage.read_json(folder / FILE)
        try:
            head = TableHead.from_json(value)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DatasetError(f"{folder / FILE} is damaged ({error}); {_REMAKE}") from error
        return cls(folder.uri, head, ConceptCounts.join([_read(folder, head, part) for part in head.datasets]))


def save_concept_table(uri: str, head: TableHead, counts: Sequence[ConceptCounts]) -> ConceptTable:
    """Write a table to `uri`, whose `head` names the data set of each of `counts`; an earlier one is replaced."""
    folder = locate(uri)
    storage.delete_file(folder / FILE)
    parts = []
    for number, (part, counted) in enumerate(zip(head.datasets, counts, strict=True)):
        content = counted.to_bytes()
        parts.append(replace(part, file=f"counts-{number}.parquet", sha256=hashlib.sha256(content).hexdigest()))
        storage.write_bytes(folder / parts[-1].file, content)
    head = replace(head, datasets=tuple(parts))
    storage.write_json(folder / FILE, head.to_json())
    return ConceptTable(folder.uri, head, ConceptCounts.join(counts))


def _read(folder: Location, head: TableHead, part: CountedSet) -> ConceptCounts:
    place = folder / part.file
    if not is_file_name(part.file):
        raise DatasetError(f"{folder / FILE} names the file {part.file!r}, which is not in its folder; {_REMAKE}")
    content = storage.read_verified(place, part.sha256, _REMAKE)
    try:
        counts = ConceptCounts.from_bytes(content, len(head.names))
        if len(counts.video_key) != part.videos:
            raise ValueError("it holds other videos than it says")
    except (ValueError, OSError) as error:
        raise DatasetError(f"{place} is damaged ({error}); {_REMAKE}") from error
    return counts
