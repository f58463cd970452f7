"""MSR-VTT: the official annotation files and one feature file per video; a row is a video with one of its captions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from vtr_core import storage
from vtr_core.config.settings import Settings
from vtr_core.data.schema import FeatureSpec
from vtr_core.data.sources.features import check_id
from vtr_core.data.sources.folder import FeatureFolder
from vtr_core.data.sources.msrvtt_annotations import read_annotations
from vtr_core.data.sources.pooling import Pool, to_float16
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Clip, Drops, VideoEntry
from vtr_core.storage import locate
from vtr_core.text.vocabulary import tokenise


@dataclass(frozen=True)
class Captioned:
    """A video's duration in seconds and its captions."""

    duration: float
    captions: tuple[str, ...]


class Msrvtt(Settings):
    """All captions of a video share its clip, whose id is the video's; video = L2(pooled frame features).

    Only videos with a feature file are listed; the rows of the others are counted as missing_file.
    """

    name: ClassVar[str] = "msrvtt"

    annotations: str
    """Folder of train_val_videodatainfo.json and test_videodatainfo.json, or one file of that form."""
    feature_folder: str
    """Folder of frame features, <video id>.npy each: (time, dim) or (dim,)."""
    split: Literal["official", "1k-a"] = "official"
    """The split of the annotation files, or that of MSRVTT_train.9k.csv and MSRVTT_JSFUSION_test.csv beside them."""
    pool: Pool = "max"
    """How the rows of a video become one vector."""
    normalise: bool = True
    """Whether that vector is brought to length 1."""

    def settings(self) -> dict[str, Any]:
        """All fields."""
        return self.model_dump(mode="json")

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video`, with the dimension of the first readable files."""
        return (FeatureSpec("video", self._dim),)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The videos that have features, in the order of the annotations; `VideoEntry.content` is a Captioned."""
        present = {file.name for file in storage.children(self._folder.location)}
        entries = []
        for video in read_annotations(self.annotations, self.split, drops):
            try:
                check_id(video.video_id)
            except UnusableError as fault:
                drops.drop(fault.reason, str(fault), max(1, len(video.captions)))
                continue
            if self._folder.file(video.video_id).name not in present:
                what = f"there is no file {self._folder.file(video.video_id)}"
                drops.drop(Reason.MISSING_FILE, what, len(video.captions))
                continue
            content = Captioned(video.duration, tuple(_usable(video.video_id, video.captions, drops)))
            entries.append(VideoEntry(video.video_id, content, video.split))
        return entries

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from video.content.captions

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        """One row per caption, in the order of the annotations."""
        content: Captioned = video.content
        try:
            vector = self._folder.clip(self._folder.read(video.video_id, self._dim), 0.0, None)
            features = {"video": to_float16(vector, video.video_id)}
        except UnusableError as fault:
            drops.drop(fault.reason, str(fault), len(content.captions))
            return
        for caption in content.captions:
            yield Clip(video.video_id, 0.0, content.duration, caption, features)

    @cached_property
    def _folder(self) -> FeatureFolder:
        return FeatureFolder(locate(self.feature_folder), self.pool, normalise=self.normalise)

    @cached_property
    def _dim(self) -> int:
        files = storage.children(self._folder.location)
        return self._folder.dim(file.name.removesuffix(".npy") for file in files if file.name.endswith(".npy"))


def _usable(video_id: str, captions: Iterable[str], drops: Drops) -> Iterator[str]:
    for caption in captions:
        if tokenise(caption):
            yield caption
        else:
            drops.drop(Reason.EMPTY_CAPTION, f"{video_id}: the caption {caption!r} holds no word")
