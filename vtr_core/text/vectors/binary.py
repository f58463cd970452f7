"""Word vectors in word2vec's binary format: the word, a space, dim little-endian float32 values, perhaps a newline."""

import io
from collections.abc import Collection, Iterator

import numpy as np
from jaxtyping import Float32

from vtr_core.errors import InputError
from vtr_core.storage import Location

_BLOCK = 1 << 22
_LONGEST_WORD = 4096


def binary_records(
    stream: io.BufferedReader, location: Location, wanted: Collection[str] | None, header: tuple[int, int]
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
        if wanted is None or word in wanted:
            yield word, _vector(buffer[space + 1 : position], word, number, location)
    rest = (buffer[position:] + stream.read(_LONGEST_WORD)).strip()
    if rest:
        raise InputError(f"{location} goes on after the {count} words of its header; download it again")


def _damaged(location: Location, number: int, count: int, ended: bool) -> InputError:
    fault = "is truncated" if ended else "is damaged"
    return InputError(f"{location} {fault} at word {number} of {count}; download it again")


def _vector(content: bytes, word: str, number: int, location: Location) -> Float32[np.ndarray, " dim"]:
    vector = np.frombuffer(content, "<f4").astype(np.float32)
    if not np.isfinite(vector).all():
        raise InputError(f"{location}, word {number}: the values of {word!r} are not all finite; download it again")
    return vector
