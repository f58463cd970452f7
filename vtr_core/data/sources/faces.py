"""Faces as a folder per subject or as scikit-learn delivers them, held-out subjects and pair lists."""

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import UInt8

from vtr_core import storage
from vtr_core.config.settings import PositiveInt, SourceSettings
from vtr_core.data.records.annotations import PairList, draw_pairs
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.files import is_folder, read_file
from vtr_core.data.sources.reasons import UnusableError
from vtr_core.data.sources.source import Drops, FaceImage, VideoEntry
from vtr_core.errors import ConfigError, InputError
from vtr_core.storage import Location, locate

if TYPE_CHECKING:
    from PIL.Image import Image


SUFFIXES = (".pgm", ".ppm", ".png", ".jpg", ".jpeg")
_FORMATS = ("PPM", "PNG", "JPEG")
_MODES = {"L": 1, "RGB": 3}


def read_image(place: Location, size: int | None = None, grey: bool = True) -> UInt8[np.ndarray, "_ _ _"]:
    """(height, width, channels) of the file at `place`; with `size` brought to size × size, with `grey` to one channel.

    Grey is 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601). Raises InputError, naming the file, where it cannot be read or
    is neither grey nor RGB of 8 bits.
    """
    from PIL import Image

    image = _opened(place)
    if image.mode not in _MODES:
        raise InputError(
            f"{place} has pixels of mode {image.mode!r}; images must be 8-bit grey or RGB: convert it, for instance "
            "with Pillow's convert('L')"
        )
    if grey:
        image = image.convert("L")
    if size is not None:
        image = image.resize((size, size), Image.Resampling.BILINEAR)
    array = np.asarray(image, np.uint8)
    return array.reshape(*array.shape[:2], -1)


def read_sized(place: Location, shape: tuple[int, int, int], resize: bool = False) -> UInt8[np.ndarray, "_ _ _"]:
    """The file as an image of `shape` (height, width, channels); InputError for one of another size, unless `resize`.

    An RGB image becomes grey where `channels` is 1; a grey one has three equal channels where it is 3.
    """
    from PIL import Image

    height, width, channels = shape
    array = read_image(place, grey=channels == 1)
    if array.shape[:2] != (height, width):
        if not resize:
            raise InputError(
                f"{place} is {array.shape[0]} × {array.shape[1]}, the model was trained on {height} × {width}; crop it "
                "alike, or use --resize"
            )
        image = Image.fromarray(array[:, :, 0] if array.shape[2] == 1 else array)
        resized = np.asarray(image.resize((width, height), Image.Resampling.BILINEAR), np.uint8)
        array = resized.reshape(height, width, -1)
    return np.repeat(array, channels, axis=2) if array.shape[2] < channels else array


def _opened(place: Location) -> "Image":
    from PIL import Image

    try:
        image = Image.open(io.BytesIO(read_file(place)), formats=_FORMATS)
        image.load()
    except UnusableError as error:
        raise InputError(f"{error}; restore it, or remove it from its folder") from error
    except Exception as error:  # whatever the decoders meet in a damaged file
        raise InputError(
            f"{place} is not a readable image ({error}); it must be PGM, PNG or JPEG: replace or remove it"
        ) from error
    return image


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


class SubjectSplits(FaceSettings):
    """Held-out subjects by name; all others are the split `train`. Without any there is one data set without splits."""

    validation: tuple[str, ...] = ()
    """Subjects of the split `val`, which chooses checkpoint and threshold."""
    test: tuple[str, ...] = ()
    """Subjects of the split `test`."""
    max_pairs: PositiveInt = 3000
    """Maximum number of matching pairs of a split; there are as many different ones."""
    pair_seed: int = 0
    """Random seed of the pair lists."""

    def entries(self, images: Mapping[str, Sequence[Any]], where: str) -> list[VideoEntry]:
        """The subjects with what their images are read from, in order, each in its split.

        Raises InputError for fewer than six subjects, or one with a single image; ConfigError for a held-out subject
        that is not there, or is in two splits.
        """
        if len(images) < FEWEST_SUBJECTS:
            raise InputError(
                f"{where} holds {len(images)} subjects; verification on unseen faces needs at least "
                f"{FEWEST_SUBJECTS}: give a folder with a folder of images for each subject"
            )
        for subject, found in images.items():
            if len(found) < 2:
                raise InputError(
                    f"{where}: subject {subject!r} has {len(found)} image, which makes no matching pair; give it "
                    "another one, or remove its folder"
                )
        self._check_splits(images, where)
        return [VideoEntry(subject, tuple(found), self._split(subject)) for subject, found in images.items()]

    def drawn(self, images: Mapping[str, Sequence[str]]) -> PairList:
        """The pairs of these subjects' image ids."""
        return draw_pairs(images, self.max_pairs, self.pair_seed)

    def _split(self, subject: str) -> str | None:
        if not self.validation and not self.test:
            return None
        return "test" if subject in self.test else "val" if subject in self.validation else "train"

    def _check_splits(self, images: Mapping[str, Sequence[Any]], where: str) -> None:
        both = sorted(set(self.validation) & set(self.test))
        if both:
            raise ConfigError(
                f"subject {both[0]!r} is in --validation and in --test; a subject belongs to one split only"
            )
        for subject in (*self.validation, *self.test):
            if subject not in images:
                known = ", ".join(list(images)[:8])
                raise ConfigError(f"{where} has no subject {subject!r} to hold out; its subjects are {known}, …")
        if (self.validation or self.test) and len({*self.validation, *self.test}) >= len(images):
            raise ConfigError(f"all {len(images)} subjects of {where} are held out; leave some to train on")


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
            if not is_folder(folder) or (self.subjects and folder.name not in self.subjects):
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


def _described(shape: tuple[int, ...]) -> str:
    height, width, channels = shape
    return f"{height} × {width} {'grey' if channels == 1 else 'RGB'}"


T = TypeVar("T")


def fetched(fetch: Callable[[Any], T], what: str) -> T:
    """The result of `fetch` on scikit-learn's `sklearn.datasets`.

    Raises ConfigError without scikit-learn, and InputError where the download does not work.
    """
    try:
        from sklearn import datasets
    except ImportError as error:
        raise ConfigError(
            f"{what} come through scikit-learn, which is not installed: pip install scikit-learn"
        ) from error
    try:
        return fetch(datasets)
    except OSError as error:  # URLError among them
        raise InputError(
            f"{what} cannot be downloaded ({error}); where there is no network, copy the images here and use "
            "vtr ingest faces --root FOLDER, or lfw --root FOLDER"
        ) from error


SIDE, SUBJECTS = 64, 40


class Olivetti(SubjectSplits):
    """Subjects s1 … s40, images 1 … 10 of each in scikit-learn's order, values in [0, 1] as whole numbers up to 255."""

    name: ClassVar[str] = "olivetti"

    cache: str | None = None
    """scikit-learn's data folder, where the download is kept (default: its own)."""

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:  # noqa: ARG002
        """The subjects; `VideoEntry.content` are the rows of their images."""
        rows: dict[str, list[int]] = {}
        for row, subject in enumerate(self._faces.target.tolist()):
            rows.setdefault(f"s{subject + 1}", []).append(row)
        return self.entries(rows, "the Olivetti faces")

    def shape(self) -> tuple[int, int, int]:
        """64 × 64, grey."""
        return SIDE, SIDE, 1

    def images(self, subject: VideoEntry) -> Iterator[FaceImage]:
        """The subject's images."""
        for number, row in enumerate(subject.content, start=1):
            values = np.rint(255 * self._faces.images[row]).astype(np.uint8)
            yield FaceImage(f"{subject.video_id}/{number}", values[:, :, None])

    def pairs(self, subjects: Sequence[VideoEntry]) -> PairList:
        """A balanced list, drawn with `pair_seed`."""
        return self.drawn({s.video_id: [f"{s.video_id}/{i + 1}" for i in range(len(s.content))] for s in subjects})

    @cached_property
    def _faces(self) -> Any:
        return fetched(lambda data: data.fetch_olivetti_faces(data_home=self.cache), "the Olivetti faces")
