"""`vtr ingest clip_tokens`: tokens of CLIP's frames and vectors of captions, and captions of other listed videos."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float16, Num
from pydantic import model_validator

from vtr_core import storage
from vtr_core.config.override import PositiveInt
from vtr_core.data.records.schema import CAPTION_VECTORS, FEATURE_DTYPE, FeatureSpec
from vtr_core.data.sources.annotated_videos import Features, ListedVideo, WholeVideos
from vtr_core.data.sources.features.feature_arrays import FeatureArray, check_values, parse_npy, to_cell
from vtr_core.data.sources.features.feature_folder import commonest
from vtr_core.data.sources.files import read_file
from vtr_core.data.sources.pairs import read_captions
from vtr_core.data.sources.published_captions import AnnotatedVideo, read_annotated
from vtr_core.data.sources.source import Drops
from vtr_core.storage import Location, locate
from vtr_core.unusable import Reason, UnusableError


def zero_vectors(listed: ListedVideo, dim: int) -> Float16[np.ndarray, "captions dim"]:
    """Zero vectors for the captions of a video that is kept without content; models treat them as absent."""
    return np.zeros((len(listed.captions), dim), FEATURE_DTYPE)


class CaptionListing(WholeVideos):
    """Whole videos that published annotations or a table of one's own list. A caption without a word is left out and
    counted, and with it its vector.
    """

    annotations: str | None = None
    """Folder of the published annotation files of `data_set`, as for vtr ingest <data set>; of MSR-VTT also one
    file."""
    data_set: Literal["msrvtt", "msvd", "didemo", "activitynet"] = "msrvtt"
    """The data set whose annotations these are."""
    split: Literal["official", "1k-a"] = "official"
    """Split of the MSR-VTT annotations: official has 6,513 / 497 / 2,990 videos; 1k-a uses MSRVTT_train.9k.csv and
    MSRVTT_JSFUSION_test.csv beside them, the latter 1,000 videos with one caption each."""
    table: str | None = None
    """Your own data instead: CSV, TSV, JSON lines (.jsonl) or Parquet with the columns id and caption, a row for each
    caption, and optionally split."""

    @model_validator(mode="after")
    def _check_one_listing(self) -> "CaptionListing":
        if (self.annotations is None) == (self.table is None):
            raise ValueError("give annotations, published files, or table, your own; one of them")
        if self.split != "official" and (self.table is not None or self.data_set != "msrvtt"):
            raise ValueError(f"split = {self.split} is MSR-VTT's; a table has a column split, or use --splits")
        if self.table is not None and self.data_set != "msrvtt":
            raise ValueError(f"data_set = {self.data_set} is of annotations; leave it out with a table")
        return self

    def settings(self) -> dict[str, Any]:
        """All settings as JSON, without `data_set` for MSR-VTT and tables, as in older data sets."""
        values = super().settings()
        if self.data_set == "msrvtt":
            del values["data_set"]
        return values

    def _listed(self, drops: Drops) -> Iterable[AnnotatedVideo]:
        if self.annotations is None:
            return read_captions(self._origin, drops)
        return read_annotated("msrvtt-1k-a" if self.split == "1k-a" else self.data_set, self.annotations, drops)

    @property
    def _origin(self) -> str:
        return self.annotations or self.table or ""


class ClipTokens(CaptionListing):
    """Every video is one row: `video`, of each frame (1 + grid²) · dim values, and `text`, a vector of each caption.

    Both are stored as they are, in float16 and not normalised. There is a column `text` where `text_folder` is given.
    Vectors come in the order of the video's captions (of the test of 1k-a: of its one sentence), and a video with more
    or fewer of them is dropped and counted.
    """

    name: ClassVar[str] = "clip_tokens"

    token_folder: str
    """Folder of <video id>.npy, tokens (frames, 1 + grid², dim) or (frames, (1 + grid²) · dim), [CLS] first."""
    text_folder: str | None = None
    """Folder of the captions' [EOT] vectors, <video id>.npy each: (captions, dim) (default: captions have none)."""
    grid: PositiveInt | None = 7
    """Patches on a side of a frame: 7 of ViT-B/32, 14 of ViT-B/16 (None: frames are single vectors)."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video`, and `text` if there are vectors, with the dimension of the first readable files."""
        frames = FeatureSpec("video", self._num_tokens * self._dim)
        return (frames,) if self._texts is None else (frames, FeatureSpec(CAPTION_VECTORS, self._dim))

    def _features(self, video_id: str, listed: ListedVideo) -> Features:
        if listed.file is None:
            raise self._missing(video_id)
        place = self._location / listed.file
        frames = self._frames(listed.file)
        if frames.shape[1] != self._num_tokens * self._dim:
            message = f"{place} has {frames.shape[1]} values a frame; this data set has {self._num_tokens}"
            raise UnusableError(Reason.WRONG_DIMENSION, f"{message} tokens of {self._dim}")
        features = {"video": to_cell(frames, str(place))}
        if self._texts is not None:
            features[CAPTION_VECTORS] = self._vectors(self._texts / listed.file, listed)
        return features

    def _frames(self, file: str) -> Num[np.ndarray, "frames values"]:
        """The tokens of each frame of a file; UnusableError for another form than that of `grid`."""
        where = str(self._location / file)
        tokens = parse_npy(read_file(self._location / file), where)
        if tokens.ndim not in (2, 3):
            message = f"{where} has shape {tokens.shape}, not (frames, tokens, dim) or (frames, tokens · dim)"
            raise UnusableError(Reason.WRONG_RANK, message)
        if len(tokens) == 0:
            raise UnusableError(Reason.NO_FRAMES, f"{where} has shape {tokens.shape}, which holds no frame")
        needs = "without a grid a frame is one vector; give --grid, the patches on a side of a frame"
        if self.grid is not None:
            needs = f"a {self.grid} × {self.grid} grid has {self._num_tokens} tokens of one dimension; "
            needs += "set --grid to that of your files"
        if tokens.ndim == 3 and tokens.shape[1] != self._num_tokens:
            raise UnusableError(Reason.WRONG_DIMENSION, f"{where} has {tokens.shape[1]} tokens a frame; {needs}")
        frames = tokens.reshape(len(tokens), -1)
        check_values(frames, where)
        if frames.shape[1] % self._num_tokens:
            raise UnusableError(Reason.WRONG_DIMENSION, f"{where} has {frames.shape[1]} values a frame; {needs}")
        return frames

    def _vectors(self, file: Location, listed: ListedVideo) -> Float16[np.ndarray, "captions dim"]:
        """The vectors of the captions that hold a word, of a file with one for each caption that was given."""
        vectors: FeatureArray = parse_npy(read_file(file), str(file))
        if vectors.ndim not in (1, 2):
            raise UnusableError(Reason.WRONG_RANK, f"{file} has shape {vectors.shape}, not (captions, dim) or (dim,)")
        check_values(vectors, str(file))
        vectors = np.atleast_2d(vectors)
        if len(vectors) != listed.num_given:
            message = f"{file} has {len(vectors)} vectors and the video {listed.num_given} captions"
            raise UnusableError(Reason.WRONG_COUNT, f"{message}; give one each, in order")
        if vectors.shape[1] != self._dim:
            message = f"{file} has vectors of {vectors.shape[1]}; tokens have {self._dim} values, of the same space"
            raise UnusableError(Reason.WRONG_DIMENSION, message)
        return to_cell(vectors[list(listed.places)], str(file))

    @property
    def _num_tokens(self) -> int:
        """Tokens of a frame."""
        return 1 if self.grid is None else 1 + self.grid**2

    @cached_property
    def _texts(self) -> Location | None:
        """The folder of vectors, resolved in the command, since tasks may have another working directory."""
        return None if self.text_folder is None else locate(self.text_folder)

    def _absent(self, listed: ListedVideo) -> Features:
        """The features of a video that is kept without: its captions have zero vectors."""
        return {} if self._texts is None else {CAPTION_VECTORS: zero_vectors(listed, self._dim)}

    def _files(self) -> Mapping[str, str]:
        names = sorted(child.name for child in storage.children(self._location))
        return {name.removesuffix(".npy"): name for name in names if name.endswith(".npy")}

    def _missing(self, video_id: str) -> UnusableError:
        return UnusableError(Reason.MISSING_FILE, f"there is no file {self._location / f'{video_id}.npy'}")

    @cached_property
    def _location(self) -> Location:
        return locate(self.token_folder)

    @cached_property
    def _dim(self) -> int:
        """The tokens' dimension: the commonest of the first readable files."""
        files = self._files().values()
        return commonest(self._location, files, lambda file: self._frames(file).shape[1] // self._num_tokens)
