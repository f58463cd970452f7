"""Word vectors from the files in which they are published: word2vec binary, word2vec text, GloVe text, BigFile."""

import gzip
import io
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow.fs as pafs
from jaxtyping import Float32

from vtr_core.errors import InputError
from vtr_core.storage import Location, locate
from vtr_core.storage.big_file import BigFile
from vtr_core.text.vectors.binary import binary_records
from vtr_core.text.vectors.text import text_records

_HEAD = 1 << 14
_BUFFER = 1 << 20
_FIRST_ROWS = 1024
_DIGITS = 18


@dataclass(frozen=True)
class WordVectors:
    """Distinct words in the order of their file, and row i of `vectors` for word i."""

    words: tuple[str, ...]
    vectors: Float32[np.ndarray, "words dim"]


def read_word_vectors(uri: str, wanted: Collection[str] | None = None) -> WordVectors:
    """The vectors of the `wanted` words (None: all) in a word-vector file of any of the formats, plain or gzipped.

    A folder is a BigFile, whose names are the words in UTF-8, as in the published word2vec of Flickr tags. A file's
    format is recognised by its content: a first line of two counts is word2vec's, which is binary where control bytes
    follow. The whole file is read, so that damage is noticed, but only the wanted vectors are held in memory. Of a word
    that occurs twice the first vector counts. Words are compared as they are written. Raises InputError for a file that
    is missing, truncated or inconsistent, or has none of the wanted words.
    """
    location = locate(uri)
    try:
        if location.filesystem.get_file_info(location.path).type == pafs.FileType.Directory:
            return _found(_from_big_file(BigFile(location), wanted), location, wanted)
        with _open(location) as stream:
            head = stream.read(_HEAD)
        with _open(location) as stream:
            found = _collect(_records(stream, head, location, wanted), wanted)
    except FileNotFoundError as error:
        raise InputError(f"there is no word-vector file {location}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{location} is a damaged gzip file ({error}); download it again") from error
    except OSError as error:
        raise InputError(f"{location} cannot be read ({error}); give a word2vec or GloVe file") from error
    return _found(found, location, wanted)


def _found(found: WordVectors, location: Location, wanted: Collection[str] | None) -> WordVectors:
    if not found.words:
        what = "no word" if wanted is None else f"none of the {len(wanted)} words of the captions"
        raise InputError(f"{location} holds {what}; give a file in the language of the captions")
    return found


def _from_big_file(file: BigFile, wanted: Collection[str] | None) -> WordVectors:
    """The wanted words in the order of the file."""
    names: dict[str, str] = {}
    for name in file.row:
        word = name.encode("latin-1").decode("utf-8", "replace")
        if wanted is None or word in wanted:
            names.setdefault(word, name)
    vectors = file.read(list(names.values()))
    if not np.isfinite(vectors).all():
        raise InputError(f"{file.location / 'feature.bin'} has values that are not finite; download it again")
    return WordVectors(tuple(names), vectors)


def _open(location: Location) -> io.BufferedReader:
    raw = location.filesystem.open_input_stream(location.path, compression=None)
    stream: io.BufferedReader = io.BufferedReader(cast(io.RawIOBase, raw), _BUFFER)
    if stream.peek(2)[:2] == b"\x1f\x8b":
        return io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=stream)), _BUFFER)
    return stream


def _records(
    stream: io.BufferedReader, head: bytes, location: Location, wanted: Collection[str] | None
) -> Iterator[tuple[str, np.ndarray]]:
    """(word, vector) of the wanted words; `head` is the beginning of the stream."""
    first, _, rest = head.partition(b"\n")
    header = _header(first)
    if header is not None:
        stream.readline()
    if header is None or _is_text(rest):
        return text_records(stream, location, wanted, header)
    return binary_records(stream, location, wanted, header)


def _header(line: bytes) -> tuple[int, int] | None:
    """(number of words, dimension) of a word2vec file's first line; None for any other line."""
    parts = line.split()
    if len(parts) != 2 or not all(part.isdigit() and len(part) <= _DIGITS for part in parts) or int(parts[1]) == 0:
        return None
    return int(parts[0]), int(parts[1])


def _is_text(content: bytes) -> bool:
    """Whether bytes are UTF-8, perhaps cut within a character, without control characters but tabs and line ends."""
    if any(byte < 32 and byte not in b"\t\r\n" for byte in content):
        return False
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def _collect(records: Iterator[tuple[str, np.ndarray]], wanted: Collection[str] | None) -> WordVectors:
    """The records in an array that grows by doubling, each word once."""
    rows: dict[str, int] = {}
    vectors = np.empty((0, 0), np.float32)
    for word, vector in records:
        if word in rows:
            continue
        if len(rows) == len(vectors):
            size = max(_FIRST_ROWS, 2 * len(rows))
            grown = np.empty((size if wanted is None else min(size, len(wanted)), len(vector)), np.float32)
            grown[: len(rows)] = vectors if len(rows) else 0
            vectors = grown
        vectors[len(rows)] = vector
        rows[word] = len(rows)
    return WordVectors(tuple(rows), vectors[: len(rows)].copy() if len(rows) < len(vectors) else vectors)
