"""Labeled Faces in the Wild: a folder for each person, and the files of pairs of its protocols."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar

from vtr_core import storage
from vtr_core.config.override import PositiveInt
from vtr_core.data.records.arrays import FacePair, PairList
from vtr_core.data.sources.faces import FaceSettings, read_image
from vtr_core.data.sources.files import check_id, read_file
from vtr_core.data.sources.source import Drops, FaceImage, VideoEntry
from vtr_core.errors import ConfigError, InputError
from vtr_core.storage import Location, locate
from vtr_core.unusable import UnusableError


def person_of(image: str) -> str:
    """`Abel_Pacheco` of the photograph `Abel_Pacheco_0001`."""
    return image.rpartition("_")[0]


def parse_pairs(text: str, where: str) -> tuple[FacePair, ...]:
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


def _pair(words: list[str], number: int, fold: int, different: bool, where: str) -> FacePair:
    form = "person i person j" if different else "person i j"
    numbers = words[1::2] if different else words[1:]
    if len(words) != (4 if different else 3) or not all(n.isdecimal() for n in numbers):
        raise InputError(f"{where}, line {number}: {' '.join(words)!r} is not '{form}'; restore the file")
    first, second = words[0], words[2] if different else words[0]
    for person in (first, second):
        try:
            check_id(person)
        except UnusableError as error:
            raise InputError(f"{where}, line {number}: {error}") from error
    if different and first == second:
        raise InputError(f"{where}, line {number}: a different pair names {first} twice; restore the file")
    return FacePair(f"{first}_{int(numbers[0]):04d}", f"{second}_{int(numbers[1]):04d}", different, fold)


PAIRS = "pairs.txt"
PEOPLE = ("lfw", "lfw_funneled", "lfw-deepfunneled")
"""Folders that the published archives unpack to."""


def lfw_folder(root: str) -> tuple[str, str, int, int]:
    """The people's folder and the file of pairs in `root`, and how many folds and pairs it has.

    People lie in `root` itself or in the folder of an archive below it. InputError, which says what it must hold, for
    any other folder.
    """
    place = locate(root)
    storage.check_readable(place)
    if not storage.exists(place / PAIRS):
        raise _not_lfw(root, PAIRS)
    pairs = parse_pairs(read_file(place / PAIRS).decode(errors="replace"), str(place / PAIRS))
    first = person_of(pairs[0].first)
    places = [place, *(place / name for name in PEOPLE)]
    people = next((folder for folder in places if any(storage.children(folder / first))), None)
    if people is None:
        raise _not_lfw(root, f"photographs of {first}, whom {PAIRS} names first")
    return people.uri, (place / PAIRS).uri, 1 + max(pair.fold for pair in pairs), len(pairs)


def _not_lfw(root: str, lacking: str) -> InputError:
    return InputError(
        f"{root} has no {lacking}; a copy of LFW holds pairs.txt (View 2), and in the same folder or in one of "
        f"{', '.join(PEOPLE)} below it a folder for each person with photographs, such as "
        "Abel_Pacheco/Abel_Pacheco_0001.jpg"
    )


class Lfw(FaceSettings):
    """The people of one file of pairs, with all their photographs, and those pairs as the data set's.

    pairs.txt is View 2, ten folds of 600 pairs; pairsDevTrain.txt and pairsDevTest.txt are View 1, to train and to
    validate with. People of View 2 are in View 1, too: only within a view are subjects unseen.
    """

    name: ClassVar[str] = "lfw"

    pairs_file: str
    """The file pairs.txt, pairsDevTrain.txt or pairsDevTest.txt."""
    root: str
    """Folder lfw of the people's folders."""
    size: PositiveInt | None = 100
    """Resize every image to this width and height."""
    grey: bool = True
    """Convert images to greyscale; --no-grey: keep their colours."""
    validation_folds: tuple[int, ...] = ()
    """Folds of pairs, from 0, whose people are the split `val`."""
    test_folds: tuple[int, ...] = ()
    """Folds of pairs whose people are the split `test`; those of all other folds are `train`."""

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:  # noqa: ARG002
        """The people that the pairs name; `VideoEntry.content` are the names of all their photographs."""
        folds = self._folds
        return [VideoEntry(person, tuple(self._photos(person)), self._split(folds[person])) for person in sorted(folds)]

    def shape(self) -> tuple[int, int, int]:
        """The shape of the first photograph."""
        first = self._pairs[0].first
        place = self._root / person_of(first) / f"{first}.jpg"
        height, width, channels = read_image(place, self.size, self.grey).shape
        return height, width, channels

    def images(self, subject: VideoEntry) -> Iterator[FaceImage]:
        """The person's photographs; InputError for one of another size or depth."""
        shape = self.shape()
        for name in subject.content:
            place = self._root / subject.video_id / name
            pixels = read_image(place, self.size, self.grey)
            if pixels.shape != shape:
                raise InputError(f"{place} is {pixels.shape}, the first photograph {shape}; all must have one size")
            yield FaceImage(name.rpartition(".")[0], pixels)

    def pairs(self, subjects: Sequence[VideoEntry]) -> PairList:
        """The pairs of these people's folds, in the file's order; InputError for a photograph that is not there."""
        known = {name.rpartition(".")[0] for subject in subjects for name in subject.content}
        splits = {self._split(self._folds[subject.video_id]) for subject in subjects}
        pairs = tuple(pair for pair in self._pairs if self._split(pair.fold) in splits)
        for pair in pairs:
            for image in (pair.first, pair.second):
                if image not in known:
                    raise InputError(f"{self.pairs_file} names {image}, which {self._root} does not have; restore it")
        return PairList(pairs, self.pairs_file.rpartition("/")[2])

    def _split(self, fold: int) -> str | None:
        if not self.validation_folds and not self.test_folds:
            return None
        return "test" if fold in self.test_folds else "val" if fold in self.validation_folds else "train"

    @cached_property
    def _folds(self) -> dict[str, int]:
        """The fold of every person; ConfigError for unknown folds, InputError for a person of two splits."""
        count = 1 + max(pair.fold for pair in self._pairs)
        wrong = [fold for fold in (*self.validation_folds, *self.test_folds) if not 0 <= fold < count]
        if wrong:
            raise ConfigError(f"there is no fold {wrong[0]} in {self.pairs_file}; its folds are 0 to {count - 1}")
        folds: dict[str, int] = {}
        for pair in self._pairs:
            for person in map(person_of, (pair.first, pair.second)):
                other = folds.setdefault(person, pair.fold)
                if self._split(other) != self._split(pair.fold):
                    raise InputError(
                        f"{self.pairs_file}: {person} is in the folds {other} and {pair.fold}, which belong to two "
                        "splits; people of different folds must differ: restore the file"
                    )
        return folds

    def _photos(self, person: str) -> list[str]:
        names = sorted(file.name for file in storage.children(self._root / person) if file.name.endswith(".jpg"))
        if not names:
            raise InputError(f"{self._root} has no photograph of {person}, whom {self.pairs_file} names; restore it")
        return names

    @cached_property
    def _pairs(self) -> tuple[FacePair, ...]:
        place = locate(self.pairs_file)
        try:
            text = read_file(place).decode()
        except (UnusableError, UnicodeDecodeError) as error:
            raise InputError(
                f"{place} is no file of pairs ({error}); give LFW's pairs.txt or pairsDevTrain.txt"
            ) from error
        return parse_pairs(text, str(place))

    @cached_property
    def _root(self) -> Location:
        place = locate(self.root)
        storage.check_readable(place)
        return place
