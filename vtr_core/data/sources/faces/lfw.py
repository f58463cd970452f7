"""Labeled Faces in the Wild: a folder for each person, and the pairs of its protocols."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from vtr_core import storage
from vtr_core.config.settings import PositiveInt
from vtr_core.data.records.face_pairs import PairList
from vtr_core.data.sources.faces.image_file import read_image
from vtr_core.data.sources.faces.lfw_pairs import NamedPair, parse_pairs, photo
from vtr_core.data.sources.faces.scikit_learn import fetched
from vtr_core.data.sources.faces.subjects import FaceSettings
from vtr_core.data.sources.files.files import read_file
from vtr_core.data.sources.reasons import UnusableError
from vtr_core.data.sources.source import Drops, FaceImage, VideoEntry
from vtr_core.errors import ConfigError, InputError
from vtr_core.storage import Location, locate


class Lfw(FaceSettings):
    """The people of one file of pairs, with all their photographs, and those pairs as the data set's.

    pairs.txt is View 2, ten folds of 600 pairs; pairsDevTrain.txt and pairsDevTest.txt are View 1, to train and to
    validate with. People of View 2 are in View 1, too: only within a view are subjects unseen.
    """

    name: ClassVar[str] = "lfw"

    pairs_file: str
    """pairs.txt, pairsDevTrain.txt or pairsDevTest.txt: a file, or with scikit-learn's copy its name alone."""
    root: str | None = None
    """Folder lfw of the people's folders (default: downloaded through scikit-learn)."""
    cache: str | None = None
    """scikit-learn's data folder, where the download is kept (default: its own)."""
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
        pair = self._pairs[0]
        first = self._root / pair.first_person / photo(pair.first_person, pair.first_number)
        height, width, channels = read_image(first, self.size, self.grey).shape
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
        found = tuple(pair.as_ids() for pair in self._pairs if self._split(pair.fold) in splits)
        for pair in found:
            for image in (pair.first, pair.second):
                if image not in known:
                    raise InputError(f"{self.pairs_file} names {image}, which {self._root} does not have; restore it")
        return PairList(found, self.pairs_file.rpartition("/")[2])

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
        found: dict[str, int] = {}
        for pair in self._pairs:
            for person in (pair.first_person, pair.second_person):
                other = found.setdefault(person, pair.fold)
                if self._split(other) != self._split(pair.fold):
                    raise InputError(
                        f"{self.pairs_file}: {person} is in the folds {other} and {pair.fold}, which belong to two "
                        "splits; people of different folds must differ: restore the file"
                    )
        return found

    def _photos(self, person: str) -> list[str]:
        names = sorted(file.name for file in storage.children(self._root / person) if file.name.endswith(".jpg"))
        if not names:
            raise InputError(f"{self._root} has no photograph of {person}, whom {self.pairs_file} names; restore it")
        return names

    @cached_property
    def _pairs(self) -> tuple[NamedPair, ...]:
        place = locate(self.pairs_file) if "/" in self.pairs_file or self.root else self._home / self.pairs_file
        try:
            text = read_file(place).decode()
        except (UnusableError, UnicodeDecodeError) as error:
            raise InputError(
                f"{place} is no file of pairs ({error}); give LFW's pairs.txt or pairsDevTrain.txt"
            ) from error
        return parse_pairs(text, str(place))

    @cached_property
    def _root(self) -> Location:
        place = self._home / "lfw" if self.root is None else locate(self.root)
        storage.check_readable(place)
        return place

    @cached_property
    def _home(self) -> Location:
        """scikit-learn's folder of LFW, downloaded if necessary; the high minimum of photographs avoids loading
        images."""

        def fetch(datasets: Any) -> str:
            datasets.fetch_lfw_people(data_home=self.cache, funneled=False, min_faces_per_person=200)
            return str(Path(datasets.get_data_home(self.cache)) / "lfw_home")

        return locate(fetched(fetch, "Labeled Faces in the Wild"))
