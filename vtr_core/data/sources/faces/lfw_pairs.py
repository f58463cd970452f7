"""LFW's files of pairs: pairs.txt with its folds, pairsDevTrain.txt and pairsDevTest.txt."""

from dataclasses import dataclass

from vtr_core.data.records.face_pairs import FacePair
from vtr_core.data.sources.names import check_id
from vtr_core.data.sources.reasons import UnusableError
from vtr_core.errors import InputError


@dataclass(frozen=True)
class NamedPair:
    """A pair as the file names it: person and number of each photograph."""

    first_person: str
    first_number: int
    second_person: str
    second_number: int
    fold: int

    def as_ids(self) -> FacePair:
        """The pair by the ids of its images."""
        first = photo(self.first_person, self.first_number).removesuffix(".jpg")
        second = photo(self.second_person, self.second_number).removesuffix(".jpg")
        return FacePair(first, second, self.first_person != self.second_person, self.fold)


def photo(person: str, number: int) -> str:
    """`Abel_Pacheco_0001.jpg`."""
    return f"{person}_{number:04d}.jpg"


def parse_pairs(text: str, where: str) -> tuple[NamedPair, ...]:
    """The pairs of a file: a line `folds n` or `n`; of each fold n lines `person i j` and n of `person i person j`.

    Raises InputError, with the line's number, for anything else, and where lines are missing or too many.
    """
    lines = [line.split() for line in text.splitlines()]
    lines = lines[: len(lines) - next((i for i, line in enumerate(reversed(lines)) if line), len(lines))]
    folds, count = _header(lines[0] if lines else [], where)
    expected = 1 + 2 * folds * count
    if len(lines) != expected:
        raise InputError(
            f"{where} has {len(lines)} lines; {folds} folds of {count} matching and {count} different pairs are "
            f"{expected}: restore the file"
        )
    return tuple(
        _pair(words, number, (number - 2) // (2 * count), ((number - 2) // count) % 2 == 1, where)
        for number, words in enumerate(lines[1:], start=2)
    )


def _header(words: list[str], where: str) -> tuple[int, int]:
    if len(words) in (1, 2) and all(word.isdecimal() and int(word) > 0 for word in words):
        return (int(words[0]) if len(words) == 2 else 1), int(words[-1])
    raise InputError(f"{where}, line 1: {' '.join(words)!r} is neither 'folds pairs' nor 'pairs'; give LFW's file")


def _pair(words: list[str], number: int, fold: int, different: bool, where: str) -> NamedPair:
    wanted = "person i person j" if different else "person i j"
    numbers = words[1::2] if different else words[1:]
    if len(words) != (4 if different else 3) or not all(n.isdecimal() for n in numbers):
        raise InputError(f"{where}, line {number}: {' '.join(words)!r} is not '{wanted}'; restore the file")
    first, second = words[0], words[2] if different else words[0]
    for person in (first, second):
        try:
            check_id(person)
        except UnusableError as error:
            raise InputError(f"{where}, line {number}: {error}") from error
    if different and first == second:
        raise InputError(f"{where}, line {number}: a different pair names {first} twice; restore the file")
    return NamedPair(first, int(numbers[0]), second, int(numbers[1]), fold)
