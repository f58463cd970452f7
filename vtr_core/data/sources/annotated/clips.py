"""Videos of annotated data sets as clips: pooled features, and a row for each caption."""

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Float16

from vtr_core import storage
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.annotated.listing import AnnotatedListing, Captioned
from vtr_core.data.sources.annotated.video import AnnotatedVideo
from vtr_core.data.sources.features.folder import FeatureFolder
from vtr_core.data.sources.features.pooling import Pool, to_float16
from vtr_core.data.sources.kept import count_fault
from vtr_core.data.sources.reasons import UnusableError
from vtr_core.data.sources.source import Clip, Drops, VideoEntry
from vtr_core.storage import locate


class AnnotatedClips(AnnotatedListing):
    """All captions of a video share its clip, whose id is the video's.

    video = L2(pooled 2D) ⊕ L2(pooled 3D) (the 2D stream alone where there is no 3D), audio = the mean of its rows: as
    `HowTo100M`, so that a model trained there can be tested here. Audio may be missing: then a clip is without.
    Of training and validation only videos with a feature file are listed; the rows of the others are counted as
    missing_file. `keep_missing` controls test videos without one.
    """

    left_out_unset: ClassVar[frozenset[str]] = frozenset({"features_3d", "audio"})

    features_3d: str | None = None
    """Folder of the 3D stream, <video id>.npy each; feature_folder is that of the 2D stream then."""
    audio: str | None = None
    """Folder of audio features, pooled by their mean and not normalised."""
    pool: Pool = "max"
    """How the rows of a video become one vector, in both visual streams."""
    normalise: bool = True
    """Scale the vector of each visual stream to unit length; --no-normalise: do not scale them."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` and, where there is a folder of it, `audio`; dimensions of the first readable files."""
        video = FeatureSpec("video", sum(self._dims))
        return (video,) if self._sounds is None else (video, FeatureSpec("audio", self._audio_dim))

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        """One row per caption, in the order of the annotations."""
        content: Captioned = video.content
        features: dict[str, Float16[np.ndarray, " dim"]] = {}
        try:
            features["video"] = self._seen(content.file)
            heard = self._heard(content.file)
            if heard is not None:
                features["audio"] = heard
        except UnusableError as fault:
            count_fault(fault, content.keep, len(content.captions), drops)
            if not content.keep:
                return
        for caption in content.captions:
            yield Clip(video.video_id, 0.0, content.duration, caption, features)

    def _rows(self, video: AnnotatedVideo) -> int:
        return max(1, len(video.captions))

    def _seen(self, file: str) -> Float16[np.ndarray, " dim"]:
        parts = [
            folder.clip(file, folder.read(file, dim), 0.0, None)
            for folder, dim in zip(self._streams, self._dims, strict=True)
        ]
        return to_float16(np.concatenate(parts), str(self._streams[0].file(file)))

    def _heard(self, file: str) -> Float16[np.ndarray, " dim"] | None:
        """The audio of a video; None without a folder of audio, or its file."""
        if self._sounds is None or not storage.exists(self._sounds.file(file)):
            return None
        vector = self._sounds.clip(file, self._sounds.read(file, self._audio_dim), 0.0, None)
        return to_float16(vector, str(self._sounds.file(file)))

    @cached_property
    def _streams(self) -> list[FeatureFolder]:
        places = [self._location, *([] if self.features_3d is None else [locate(self.features_3d)])]
        return [FeatureFolder(place, self.pool, normalise=self.normalise) for place in places]

    @cached_property
    def _sounds(self) -> FeatureFolder | None:
        return None if self.audio is None else FeatureFolder(locate(self.audio), "mean", normalise=False)

    @cached_property
    def _dims(self) -> list[int]:
        return [folder.dim(self._feature_ids()) for folder in self._streams]

    @cached_property
    def _audio_dim(self) -> int:
        assert self._sounds is not None
        return self._sounds.dim(self._feature_ids())
