"""A folder of subjects, each a folder of images, the format of the AT&T faces."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar

import pyarrow.fs as pafs

from vtr_core import storage
from vtr_core.config.settings import PositiveInt
from vtr_core.data.records.face_pairs import PairList
from vtr_core.data.sources.faces.image_file import SUFFIXES, read_image
from vtr_core.data.sources.faces.subjects import SubjectSplits
from vtr_core.data.sources.source import Drops, FaceImage, VideoEntry
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate


class Faces(SubjectSplits):
    """Every folder below `root` is a subject, every PGM, PNG or JPEG file in it an image; other files are left alone.

    All images must have the size and depth of the first one. Whatever cannot be used is an error that names the file:
    so few images are worth mending.
    """

    name: ClassVar[str] = "faces"

    root: str
    """Folder of the subjects' folders."""
    size: PositiveInt | None = None
    """Resize every image to this width and height (default: no change)."""
    grey: bool = True
    """Convert images to greyscale; --no-grey: keep their colours."""
    subjects: tuple[str, ...] = ()
    """Only these subjects (default: all)."""

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:  # noqa: ARG002  faults are errors here
        """The subjects; `VideoEntry.content` are the names of their files."""
        return self.entries(self._files, str(self._location))

    def shape(self) -> tuple[int, int, int]:
        """The shape of the first image."""
        height, width, channels = read_image(self._first, self.size, self.grey).shape
        return height, width, channels

    def images(self, subject: VideoEntry) -> Iterator[FaceImage]:
        """The subject's images in the order of their numbers; InputError for one of another size or depth."""
        shape, given = self.shape(), read_image(self._first, grey=False).shape
        for name in subject.content:
            place = self._location / subject.video_id / name
            raw = read_image(place, grey=False).shape
            if raw != given:
                raise InputError(
                    f"{place} is {_described(raw)}, {self._first} is {_described(given)}; "
                    "all images must have one size and depth"
                )
            pixels = read_image(place, self.size, self.grey)
            assert pixels.shape == shape
            yield FaceImage(image_id(subject.video_id, name), pixels)

    def pairs(self, subjects: Sequence[VideoEntry]) -> PairList:
        """A balanced list, drawn with `pair_seed`."""
        return self.drawn({s.video_id: [image_id(s.video_id, name) for name in s.content] for s in subjects})

    @cached_property
    def _location(self) -> Location:
        place = locate(self.root)
        storage.check_readable(place)
        return place

    @cached_property
    def _files(self) -> dict[str, list[str]]:
        """The image files of each folder that has any, both in the order of their numbers."""
        found = {}
        for folder in sorted(storage.children(self._location), key=lambda one: by_number(one.name)):
            if not _is_folder(folder) or (self.subjects and folder.name not in self.subjects):
                continue
            names = [file.name for file in storage.children(folder) if file.name.lower().endswith(SUFFIXES)]
            _check_stems(folder, names)
            if names:
                found[folder.name] = sorted(names, key=by_number)
        return found

    @cached_property
    def _first(self) -> Location:
        subject, names = next(iter(self._files.items()))
        return self._location / subject / names[0]


def image_id(subject: str, file: str) -> str:
    """`s1/3` for the file 3.pgm of s1."""
    return f"{subject}/{file.rpartition('.')[0]}"


def by_number(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key that puts s2 before s10."""
    parts = re.findall(r"\d+|\D+", name)
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)


def _check_stems(folder: Location, names: Sequence[str]) -> None:
    """InputError for two images of one id."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(image_id(folder.name, name), name)
        if other != name:
            raise InputError(
                f"{folder} has {other} and {name}, whose ids would both be {image_id(folder.name, name)}; rename one"
            )


def _is_folder(location: Location) -> bool:
    return bool(location.filesystem.get_file_info(location.path).type == pafs.FileType.Directory)


def _described(shape: tuple[int, ...]) -> str:
    height, width, channels = shape
    return f"{height} × {width} {'grey' if channels == 1 else 'RGB'}"
