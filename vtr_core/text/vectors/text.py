"""Word vectors as lines of text: a word, a space, its values (GloVe, and word2vec text after its header)."""

import io
from collections.abc import Collection, Iterator

import numpy as np
from jaxtyping import Float32

from vtr_core.errors import InputError
from vtr_core.storage import Location


def text_records(
    stream: io.BufferedReader, location: Location, wanted: Collection[str] | None, header: tuple[int, int] | None
) -> Iterator[tuple[str, Float32[np.ndarray, " dim"]]]:
    """(word, vector) of the wanted words, from a stream positioned after the header (words, dim), if there is one.

    Words may contain spaces, as some of GloVe's do: the last dim fields are the values. Raises InputError, naming file
    and line.
    """
    dim, count = (header[1], header[0]) if header else (None, None)
    found = 0
    for number, line in enumerate(stream, start=2 if header else 1):
        where = f"{location}, line {number}"
        text = _decoded(line, where)
        if not text:
            continue
        found += 1
        dim = dim or _first_dim(text, where)
        word, *values = text.rsplit(" ", dim)
        phrase, _, last = word.rpartition(" ")
        if len(values) != dim or (phrase and _is_number(last)):
            raise InputError(f"{where}: {len(text.split()) - 1} values where the file has {dim}; download it again")
        if wanted is None or word in wanted:
            yield word, _vector(values, word, where)
    if count is not None and found != count:
        raise InputError(f"{location} has {found} words where its header says {count}; download it again")


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


def _vector(values: list[str], word: str, where: str) -> Float32[np.ndarray, " dim"]:
    try:
        vector = np.array(values, dtype=np.float32)
    except ValueError as error:
        raise InputError(f"{where}: the values of {word!r} are not all numbers ({error})") from error
    if not np.isfinite(vector).all():
        raise InputError(f"{where}: the values of {word!r} are not all finite")
    return vector
