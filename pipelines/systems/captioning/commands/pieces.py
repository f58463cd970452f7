"""Words of a data set as pieces of words of BERT's vocabulary."""

from collections.abc import Mapping, Sequence

from vtr_core import storage
from vtr_core.errors import InputError
from vtr_core.storage import locate
from vtr_core.text.tokens.vocabulary import Vocabulary


def word_rows(words: Vocabulary, file: str, data: str) -> list[list[int]]:
    """For each word of a data set's vocabulary, then the end of captions and [MASK], its rows in BERT's vocab.txt.

    InputError for a file that is none, and for words with tags.
    """
    if words.tags is not None:
        raise InputError(f"{data} has words with tags; make it with plain words")
    return pieces_of([*words.words, "[SEP]", "[MASK]"], _lines(file))


def pieces_of(words: Sequence[str], pieces: Sequence[str]) -> list[list[int]]:
    """Each word as rows of the longest pieces from its start on, those after the first with ## (Wu et al. 2016).

    The row of [UNK] for a word that the pieces do not make. InputError where the pieces lack a special one.
    """
    row = {piece: place for place, piece in enumerate(pieces)}
    lacking = [piece for piece in ("[UNK]", "[SEP]", "[MASK]") if piece not in row]
    if lacking:
        raise InputError(f"the pieces of words lack {', '.join(lacking)}; give BERT's vocab.txt")
    return [_cut(word, row) or [row["[UNK]"]] for word in words]


def _cut(word: str, row: Mapping[str, int]) -> list[int]:
    found, first = list[int](), 0
    while first < len(word):
        prefix = "##" if first else ""
        ends = (end for end in range(len(word), first, -1) if prefix + word[first:end] in row)
        end = next(ends, None)
        if end is None:
            return []
        found.append(row[prefix + word[first:end]])
        first = end
    return found


def _lines(file: str) -> list[str]:
    try:
        return storage.read_bytes(locate(file)).decode().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read as text ({error}); give BERT's vocab.txt") from error
