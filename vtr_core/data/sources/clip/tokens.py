"""Precomputed CLIP tokens of frames and vectors of captions, one file per video."""

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Float16

from vtr_core import storage
from vtr_core.config.settings import PositiveInt
from vtr_core.data.records.arrays import MAX_CELL_BYTES
from vtr_core.data.records.schema import CAPTION_VECTORS, FEATURE_DTYPE, FeatureSpec
from vtr_core.data.sources.clip.caption_listing import CaptionListing, ListedVideo, zero_vectors
from vtr_core.data.sources.clip.file import ClipFile, check_caption_vectors, num_tokens, read_clip_file
from vtr_core.data.sources.features.feature_arrays import FeatureArray, parse_npy, to_float16
from vtr_core.data.sources.features.feature_folder import commonest
from vtr_core.data.sources.files import read_file
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops
from vtr_core.storage import Location, locate

_SUFFIXES = (".npy", ".npz")


class ClipTokens(CaptionListing):
    """Every video is one row: `video`, of each frame (1 + grid²) · dim values, and `text`, a vector of each caption.

    Both are stored as they are, in float16 and not normalised. There is a column `text` where `text_folder` is given,
    or the first readable files have an array of that name. Vectors come in the order of the video's captions (of the
    test of 1k-a: of its one sentence), and a video with more or fewer of them is dropped and counted.
    """

    name: ClassVar[str] = "clip_tokens"

    token_folder: str
    """Folder of <video id>.npy, tokens (frames, 1 + grid², dim) or (frames, (1 + grid²) · dim), [CLS] first; or of
    <video id>.npz with an array tokens of that form, or cls (frames, dim) and patches (frames, grid², dim)."""
    text_folder: str | None = None
    """Folder of the captions' [EOT] vectors, <video id>.npy each: (captions, dim) (default: the array text of .npz)."""
    grid: PositiveInt | None = 7
    """Patches on a side of a frame: 7 of ViT-B/32, 14 of ViT-B/16 (None: frames are single vectors)."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video`, and `text` if there are vectors, with the dimension of the first readable files."""
        dim, has_text = self._layout
        frames = FeatureSpec("video", num_tokens(self.grid) * dim)
        return (frames, FeatureSpec(CAPTION_VECTORS, dim)) if has_text else (frames,)

    def _features(self, video_id: str, listed: ListedVideo) -> dict[str, Float16[np.ndarray, "_ _"]]:
        if listed.file is None:
            raise self._missing(video_id)
        place = self._location / listed.file
        found = read_clip_file(place, self.grid)
        dim, has_text = self._layout
        if found.frames.shape[1] != num_tokens(self.grid) * dim:
            what = f"{place} has {found.frames.shape[1]} values a frame; this data set has {num_tokens(self.grid)}"
            raise UnusableError(Reason.WRONG_DIMENSION, f"{what} tokens of {dim}")
        if found.frames.size * FEATURE_DTYPE.itemsize > MAX_CELL_BYTES:
            what = f"{place} has {len(found.frames)} frames of {found.frames.shape[1]} values"
            raise UnusableError(Reason.WRONG_DIMENSION, f"{what}; a row holds {MAX_CELL_BYTES >> 20} MiB")
        features = {"video": to_float16(found.frames, str(place))}
        if has_text:
            where, vectors = self._vectors(place, found)
            features[CAPTION_VECTORS] = to_float16(_of_captions(vectors, listed, dim, where), where)
        return features

    @cached_property
    def _texts(self) -> Location | None:
        """The folder of vectors, resolved in the command, since tasks may have another working directory."""
        return None if self.text_folder is None else locate(self.text_folder)

    def _vectors(self, place: Location, found: ClipFile) -> tuple[str, FeatureArray]:
        """The vectors of all captions that the video was given, and the file that they are from."""
        if self._texts is None:
            if found.text is None:
                what = f"{place} has no array {CAPTION_VECTORS}, others have; give each, or a --text-folder"
                raise UnusableError(Reason.WRONG_COUNT, what)
            return f"{place}, {CAPTION_VECTORS}", found.text
        file = self._texts / f"{place.name[: -len(_SUFFIXES[0])]}.npy"
        vectors = parse_npy(read_file(file), str(file))
        check_caption_vectors(vectors, str(file))
        return str(file), vectors

    def _absent(self, listed: ListedVideo) -> dict[str, Float16[np.ndarray, "_ _"]]:
        """The features of a video that is kept without: its captions have zero vectors."""
        dim, has_text = self._layout
        return {CAPTION_VECTORS: zero_vectors(listed, dim)} if has_text else {}

    def _files(self, drops: Drops) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for file in sorted(child.name for child in storage.children(self._location)):
            if file.endswith(_SUFFIXES):
                video = file[: -len(_SUFFIXES[0])]
                if video in found:
                    drops.drop(Reason.DUPLICATE_ID, f"{self._location / file}: {found[video]} is read already")
                found.setdefault(video, file)
        return found

    def _missing(self, video_id: str) -> UnusableError:
        names = " or ".join(f"{video_id}{suffix}" for suffix in _SUFFIXES)
        return UnusableError(Reason.MISSING_FILE, f"there is no file {names} in {self._location}")

    @cached_property
    def _location(self) -> Location:
        return locate(self.token_folder)

    @cached_property
    def _layout(self) -> tuple[int, bool]:
        """The tokens' dimension, and whether captions have vectors: the commonest of the first readable files."""
        return commonest(self._location, self._files(Drops()).values(), self._layout_of)

    def _layout_of(self, file: str) -> tuple[int, bool]:
        found = read_clip_file(self._location / file, self.grid)
        dim = found.frames.shape[1] // num_tokens(self.grid)
        return dim, self._texts is not None or found.text is not None


def _of_captions(vectors: FeatureArray, listed: ListedVideo, dim: int, where: str) -> FeatureArray:
    """(captions, dim): the vectors of the captions that hold a word."""
    vectors = np.atleast_2d(vectors)
    if len(vectors) != listed.num_given:
        what = f"{where} has {len(vectors)} vectors and the video {listed.num_given} captions; give one each, in order"
        raise UnusableError(Reason.WRONG_COUNT, what)
    if vectors.shape[1] != dim:
        what = f"{where} has vectors of {vectors.shape[1]}; tokens have {dim} values, of the same space"
        raise UnusableError(Reason.WRONG_DIMENSION, what)
    return vectors[list(listed.places)]
