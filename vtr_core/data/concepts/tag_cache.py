"""Tagged captions, kept by their content: the same captions are not tagged twice by the same tagger."""

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core import storage
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import Location
from vtr_core.text.tagging.tagger import PosTagger, TaggedWord

CHUNK = 16_384
"""Captions that are tagged and kept together; what an interrupted run has finished is found again."""

Words = tuple[str, ...]
_SCHEMA = pa.schema([("lemmas", pa.list_(pa.string())), ("tags", pa.list_(pa.string()))])


@dataclass
class TagCounts:
    """Distinct captions that were tagged now, and those that were found from before."""

    tagged: int = 0
    found: int = 0


def tag_captions(
    captions: Iterable[Words], tagger: PosTagger, cache: Location, counts: TagCounts
) -> Mapping[Words, list[TaggedWord]]:
    """The tagged words of every distinct caption.

    A file of the cache is named by the tagger's fingerprint and the captions in it; one that is damaged is made anew.
    """
    distinct = iter(dict.fromkeys(captions))
    tagged: dict[Words, list[TaggedWord]] = {}
    while chunk := list(islice(distinct, CHUNK)):
        place = cache / f"{_key(tagger, chunk)}.parquet"
        found = _read(place, chunk)
        if found is None:
            found = list(tagger.tag(chunk))
            storage.write_bytes(place, _to_bytes(found))
            counts.tagged += len(chunk)
        else:
            counts.found += len(chunk)
        tagged.update(zip(chunk, found, strict=True))
    return tagged


def _key(tagger: PosTagger, chunk: Sequence[Words]) -> str:
    content = hashlib.sha256("\n".join(" ".join(words) for words in chunk).encode()).hexdigest()
    return fingerprint([tagger.fingerprint, content])


def _to_bytes(tagged: Sequence[Sequence[TaggedWord]]) -> bytes:
    lemmas = pa.array([[word.lemma for word in caption] for caption in tagged], pa.list_(pa.string()))
    tags = pa.array([[word.pos for word in caption] for caption in tagged], pa.list_(pa.string()))
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([lemmas, tags], schema=_SCHEMA), sink, compression="zstd")
    return sink.getvalue()


def _read(place: Location, chunk: Sequence[Words]) -> list[list[TaggedWord]] | None:
    """What the cache holds of these captions; None where it does not, or not whole."""
    try:
        table = pq.read_table(io.BytesIO(storage.read_bytes(place)), schema=_SCHEMA)
        return list(_joined(chunk, table.column("lemmas").to_pylist(), table.column("tags").to_pylist()))
    except FileNotFoundError:
        return None
    except (pa.ArrowException, ValueError, TypeError, OSError):
        return None


def _joined(
    chunk: Sequence[Words], lemmas: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]
) -> Iterator[list[TaggedWord]]:
    for words, own_lemmas, own_tags in zip(chunk, lemmas, tags, strict=True):
        yield [TaggedWord(*word) for word in zip(words, own_lemmas, own_tags, strict=True)]
