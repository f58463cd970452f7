"""Faces as a folder per subject, held-out subjects and pair lists."""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import UInt8

from vtr_core import storage
from vtr_core.config.override import PositiveInt, SourceSettings
from vtr_core.data.records.arrays import PairList, draw_pairs
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.files import is_folder, read_file
from vtr_core.data.sources.source import Drops, FaceImage, VideoEntry
from vtr_core.errors import ConfigError, InputError
from vtr_core.storage import Location, locate
from vtr_core.unusable import UnusableError

SUFFIXES = (".pgm", ".ppm", ".png", ".jpg", ".jpeg")
_FORMATS = ("PPM", "PNG", "JPEG")
_MODES = ("L", "RGB")


def read_image(place: Location, size: int | None = None, grey: bool = True) -> UInt8[np.ndarray, "_ _ _"]:
    """(height, width, channels) of the file at `place`; with `size` brought to size × size, with `grey` to one channel.

    It is upright as its camera says (EXIF). Grey is 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601). Raises InputError,
    naming the file, where it cannot be read or is neither grey nor RGB of 8 bits.
    """
    from PIL import Image, ImageOps

    try:
        image = ImageOps.exif_transpose(Image.open(io.BytesIO(read_file(place, 2**28)), formats=_FORMATS))
    except UnusableError as error:
        raise InputError(f"{error}; restore it, or remove it from its folder") from error
    except Exception as error:  # whatever the decoders meet in a damaged file
        raise InputError(
            f"{place} is not a readable image ({error}); it must be PGM, PNG or JPEG: replace or remove it"
        ) from error
    if image.mode not in _MODES:
        raise InputError(
            f"{place} has pixels of mode {image.mode!r}; images must be 8-bit grey or RGB: convert it, for instance "
            "with Pillow's convert('L')"
        )
    if grey:
        image = image.convert("L")
    array = np.asarray(image, np.uint8)
    array = array.reshape(*array.shape[:2], -1)
    return array if size is None else resized(array, (size, size))


def resized(image: UInt8[np.ndarray, "_ _ channels"], size: tuple[int, int]) -> UInt8[np.ndarray, "_ _ channels"]:
    """An image of `size` (height, width), by bilinear interpolation."""
    from PIL import Image

    picture = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)
    return np.asarray(picture.resize(size[::-1], Image.Resampling.BILINEAR), np.uint8).reshape(*size, -1)


def read_sized(place: Location, shape: tuple[int, int, int], resize: bool = False) -> UInt8[np.ndarray, "_ _ _"]:
    """The file as an image of `shape` (height, width, channels); InputError for one of another size, unless `resize`.

    An RGB image becomes grey where `channels` is 1; a grey one has three equal channels where it is 3.
    """
    height, width, channels = shape
    array = read_image(place, grey=channels == 1)
    if array.shape[:2] != (height, width):
        if not resize:
            raise InputError(
                f"{place} is {array.shape[0]} × {array.shape[1]}, the model was trained on {height} × {width}; crop it "
                "alike, or use --resize"
            )
        array = resized(array, (height, width))
    return np.repeat(array, channels, axis=2) if array.shape[2] < channels else array


FEWEST_SUBJECTS = 6
"""Minimum number of subjects: five are held out in the AT&T protocol, and training needs one."""


class FaceSettings(SourceSettings):
    """Settings of a source of images, which have neither feature columns nor captions."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """No feature columns: an image is its pixels."""
        return ()

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:  # noqa: ARG002
        """No captions."""
        return ()


class Faces(FaceSettings):
    """Every folder below `root` is a subject, every PGM, PNG or JPEG file in it an image; other files are left alone.

    All images must have the size and depth of the first one. Whatever cannot be used is an error that names the file:
    so few images are worth mending. Subjects are held out by name; all others are the split `train`. Without any there
    is one data set without splits.
    """

    name: ClassVar[str] = "faces"

    validation: tuple[str, ...] = ()
    """Subjects of the split `val`, which chooses checkpoint and threshold."""
    test: tuple[str, ...] = ()
    """Subjects of the split `test`."""
    max_pairs: PositiveInt = 3000
    """Maximum number of matching pairs of a split; there are as many different ones."""
    pair_seed: int = 0
    """Random seed of the pair lists."""
    root: str
    """Folder of the subjects' folders."""
    size: PositiveInt | None = None
    """Resize every image to this width and height (default: no change)."""
    grey: bool = True
    """Convert images to greyscale; --no-grey: keep their colours."""
    subjects: tuple[str, ...] = ()
    """Only these subjects (default: all)."""

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:  # noqa: ARG002  faults are errors here
        """The subjects; `VideoEntry.content` are the names of their files.

        Raises InputError for fewer than six subjects, or one with a single image; ConfigError for a held-out subject
        that is not there, or is in two splits.
        """
        if len(self._files) < FEWEST_SUBJECTS:
            raise InputError(
                f"{self._location} holds {len(self._files)} subjects; verification on unseen faces needs at least "
                f"{FEWEST_SUBJECTS}: give a folder with a folder of images for each subject"
            )
        for subject, files in self._files.items():
            if len(files) < 2:
                raise InputError(
                    f"{self._location}: subject {subject!r} has {len(files)} image, which makes no matching pair; give "
                    "it another one, or remove its folder"
                )
        self._check_splits()
        return [VideoEntry(subject, tuple(files), self._split(subject)) for subject, files in self._files.items()]

    def _split(self, subject: str) -> str | None:
        if not self.validation and not self.test:
            return None
        return "test" if subject in self.test else "val" if subject in self.validation else "train"

    def _check_splits(self) -> None:
        both = sorted(set(self.validation) & set(self.test))
        if both:
            raise ConfigError(
                f"subject {both[0]!r} is in --validation and in --test; a subject belongs to one split only"
            )
        for subject in (*self.validation, *self.test):
            if subject not in self._files:
                known = ", ".join(list(self._files)[:8])
                raise ConfigError(
                    f"{self._location} has no subject {subject!r} to hold out; its subjects are {known}, …"
                )
        if (self.validation or self.test) and len({*self.validation, *self.test}) >= len(self._files):
            raise ConfigError(
                f"all {len(self._files)} subjects of {self._location} are held out; leave some to train on"
            )

    def shape(self) -> tuple[int, int, int]:
        """The shape of the first image."""
        height, width, channels = read_image(self._first, self.size, self.grey).shape
        return height, width, channels

    def images(self, subject: VideoEntry) -> Iterator[FaceImage]:
        """The subject's images in the order of their numbers; InputError for one of another size or depth."""
        shape, expected = self.shape(), read_image(self._first, grey=False).shape
        for name in subject.content:
            place = self._location / subject.video_id / name
            raw = read_image(place, grey=False).shape
            if raw != expected:
                raise InputError(
                    f"{place} is {_described(raw)}, {self._first} is {_described(expected)}; "
                    "all images must have one size and depth"
                )
            pixels = read_image(place, self.size, self.grey)
            assert pixels.shape == shape
            yield FaceImage(image_id(subject.video_id, name), pixels)

    def pairs(self, subjects: Sequence[VideoEntry]) -> PairList:
        """A balanced list, drawn with `pair_seed`."""
        images = {s.video_id: [image_id(s.video_id, name) for name in s.content] for s in subjects}
        return draw_pairs(images, self.max_pairs, self.pair_seed)

    @cached_property
    def _location(self) -> Location:
        place = locate(self.root)
        storage.check_readable(place)
        return place

    @cached_property
    def _files(self) -> dict[str, list[str]]:
        """The image files of each folder that has any, both in the order of their numbers."""
        files = {}
        for folder in sorted(storage.children(self._location), key=lambda folder: by_number(folder.name)):
            if not is_folder(folder) or (self.subjects and folder.name not in self.subjects):
                continue
            names = [file.name for file in storage.children(folder) if file.name.lower().endswith(SUFFIXES)]
            _check_stems(folder, names)
            if names:
                files[folder.name] = sorted(names, key=by_number)
        return files

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
    by_id: dict[str, str] = {}
    for name in names:
        other = by_id.setdefault(image_id(folder.name, name), name)
        if other != name:
            raise InputError(
                f"{folder} has {other} and {name}, whose ids would both be {image_id(folder.name, name)}; rename one"
            )


def _described(shape: tuple[int, ...]) -> str:
    height, width, channels = shape
    return f"{height} × {width} {'grey' if channels == 1 else 'RGB'}"
