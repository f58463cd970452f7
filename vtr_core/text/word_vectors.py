"""Word vectors from the files in which they are published: word2vec, GloVe, BigFile."""

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

_BLOCK = 1 << 22
_LONGEST_WORD = 4096


def binary_records(
    stream: io.BufferedReader, location: Location, words: Collection[str], header: tuple[int, int]
) -> Iterator[tuple[str, Float32[np.ndarray, " dim"]]]:
    """(word, vector) of the wanted words, from a stream positioned after the header (words, dim).

    Raises InputError, naming the file and the position, where the file ends early or goes on after the last word.
    """
    count, dim = header
    width = 4 * dim
    buffer, position = b"", 0
    for number in range(1, count + 1):
        if len(buffer) - position < width + _LONGEST_WORD:
            buffer, position = buffer[position:] + stream.read(_BLOCK), 0
        space = buffer.find(b" ", position, position + _LONGEST_WORD)
        if space < 0 or len(buffer) < space + 1 + width:
            raise _damaged(location, number, count, ended=len(buffer) - position < width + _LONGEST_WORD)
        word = buffer[position:space].lstrip(b"\n").decode(errors="replace")
        position = space + 1 + width
        if word in words:
            vector = np.frombuffer(buffer[space + 1 : position], "<f4").astype(np.float32)
            yield word, _finite(vector, word, f"{location}, word {number}")
    rest = (buffer[position:] + stream.read(_LONGEST_WORD)).strip()
    if rest:
        raise InputError(f"{location} goes on after the {count} words of its header; download it again")


def _damaged(location: Location, number: int, count: int, ended: bool) -> InputError:
    fault = "is truncated" if ended else "is damaged"
    return InputError(f"{location} {fault} at word {number} of {count}; download it again")


def _finite(vector: Float32[np.ndarray, " dim"], word: str, where: str) -> Float32[np.ndarray, " dim"]:
    if not np.isfinite(vector).all():
        raise InputError(f"{where}: the values of {word!r} are not all finite; download it again")
    return vector


def text_records(
    stream: io.BufferedReader, location: Location, words: Collection[str], header: tuple[int, int] | None
) -> Iterator[tuple[str, Float32[np.ndarray, " dim"]]]:
    """(word, vector) of the wanted words, from a stream positioned after the header (words, dim), if there is one.

    Words may contain spaces, as some of GloVe's do: the last dim fields are the values. Raises InputError, naming file
    and line.
    """
    dim, count = (header[1], header[0]) if header else (None, None)
    count_read = 0
    for number, line in enumerate(stream, start=2 if header else 1):
        where = f"{location}, line {number}"
        text = _decoded(line, where)
        if not text:
            continue
        count_read += 1
        dim = dim or _first_dim(text, where)
        word, *values = text.rsplit(" ", dim)
        phrase, _, last = word.rpartition(" ")
        if len(values) != dim or (phrase and _is_number(last)):
            raise InputError(f"{where}: {len(text.split()) - 1} values where the file has {dim}; download it again")
        if word in words:
            try:
                vector = np.array(values, dtype=np.float32)
            except ValueError as error:
                raise InputError(f"{where}: the values of {word!r} are not all numbers ({error})") from error
            yield word, _finite(vector, word, where)
    if count is not None and count_read != count:
        raise InputError(f"{location} has {count_read} words where its header says {count}; download it again")


def _decoded(line: bytes, where: str) -> str:
    try:
        return line.decode().rstrip()
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 text ({error.reason}); give a word2vec or GloVe file") from error


def _first_dim(text: str, where: str) -> int:
    """The number of values of a first line, whose word holds no space."""
    _, *values = text.split(" ")
    if not values or not all(_is_number(value) for value in values):
        raise InputError(f"{where}: {text[:40]!r} is not a word with its values; give a word2vec or GloVe file")
    return len(values)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_HEAD = 1 << 14
_BUFFER = 1 << 20
_DIGITS = 18


@dataclass(frozen=True)
class WordVectors:
    """Distinct words in the order of their file, and row i of `vectors` for word i."""

    words: tuple[str, ...]
    vectors: Float32[np.ndarray, "words dim"]


def read_word_vectors(uri: str, words: Collection[str]) -> WordVectors:
    """The vectors of `words` in a word-vector file of any of the formats, plain or gzipped.

    A folder is a BigFile, whose names are the words in UTF-8, as in the published word2vec of Flickr tags. A file's
    format is recognised by its content: a first line of two counts is word2vec's, which is binary where control bytes
    follow. The whole file is read, so that damage is noticed, but only the wanted vectors are held in memory. Of a word
    that occurs twice the first vector counts. Words are compared as they are written. Raises InputError for a file that
    is missing, truncated or inconsistent, or has none of the wanted words.
    """
    location = locate(uri)
    try:
        if location.info.type == pafs.FileType.Directory:
            return _not_empty(_from_big_file(BigFile(location), words), location, words)
        with _open(location) as stream:
            head = stream.read(_HEAD)
        with _open(location) as stream:
            vectors = _distinct(_records(stream, head, location, words))
    except FileNotFoundError as error:
        raise InputError(f"there is no word-vector file {location}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{location} is a damaged gzip file ({error}); download it again") from error
    except OSError as error:
        raise InputError(f"{location} cannot be read ({error}); give a word2vec or GloVe file") from error
    return _not_empty(vectors, location, words)


def _not_empty(vectors: WordVectors, location: Location, words: Collection[str]) -> WordVectors:
    if not vectors.words:
        raise InputError(
            f"{location} holds none of the {len(words)} words of the captions; give a file in their language"
        )
    return vectors


def _from_big_file(file: BigFile, words: Collection[str]) -> WordVectors:
    """The wanted words in the order of the file."""
    names: dict[str, str] = {}
    for name in file.row:
        word = name.encode("latin-1").decode("utf-8", "replace")
        if word in words:
            names.setdefault(word, name)
    vectors = file.read(list(names.values()))
    if not np.isfinite(vectors).all():
        raise InputError(f"{file.location / 'feature.bin'} has values that are not finite; download it again")
    return WordVectors(tuple(names), vectors)


def _open(location: Location) -> io.BufferedReader:
    raw = location.open_stream()
    stream: io.BufferedReader = io.BufferedReader(cast(io.RawIOBase, raw), _BUFFER)
    if stream.peek(2)[:2] == b"\x1f\x8b":
        return io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=stream)), _BUFFER)
    return stream


def _records(
    stream: io.BufferedReader, head: bytes, location: Location, words: Collection[str]
) -> Iterator[tuple[str, np.ndarray]]:
    """(word, vector) of the wanted words; `head` is the beginning of the stream."""
    first, _, rest = head.partition(b"\n")
    header = _header(first)
    if header is not None:
        stream.readline()
    if header is None or _is_text(rest):
        return text_records(stream, location, words, header)
    return binary_records(stream, location, words, header)


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


def _distinct(records: Iterator[tuple[str, np.ndarray]]) -> WordVectors:
    """Each word once, with its first vector."""
    first: dict[str, np.ndarray] = {}
    for word, vector in records:
        first.setdefault(word, vector)
    return WordVectors(tuple(first), np.stack(list(first.values())) if first else np.zeros((0, 0), np.float32))
