"""Collections in dual encoding's published format, a BigFile and captions: TGIF, and TRECVID's search."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, ClassVar, Literal, NamedTuple
from urllib.parse import urlsplit

from vtr_core import storage
from vtr_core.config.override import SourceSettings
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.features.feature_arrays import check_values, to_float16
from vtr_core.data.sources.files import check_id, filled_lines, read_lines
from vtr_core.data.sources.source import Drops, Video, VideoEntry
from vtr_core.errors import InputError
from vtr_core.storage import StorageError, locate
from vtr_core.storage.big_file import BigFile, ranges
from vtr_core.text.tokens.vocabulary import tokenise
from vtr_core.unusable import Reason, UnusableError


class BigFileContent(NamedTuple):
    """What a task needs of a video: its captions, and the ranges of its rows in the BigFile."""

    captions: tuple[str, ...]
    rows: tuple[tuple[int, int], ...]


class BigFileVideos(SourceSettings):
    """Whole videos; VideoEntry.content is a `BigFileContent`.

    A video of the captions without a frame is dropped and counted. Without a file of captions every video of the
    BigFile is a row without captions: a collection to be searched.
    """

    name: ClassVar[str] = "bigfile"

    feature_folder: str
    """Folder of feature.bin, shape.txt and id.txt, whose vectors are called <video>_<number>, frame by frame."""
    captions_file: str | None = None
    """File of lines "<video>#<anything> caption" (default: no captions)."""
    single: bool = False
    """Whether every vector is a video of one frame, whose id is the vector's name."""

    def __getstate__(self) -> dict[Any, Any]:
        """The settings alone: what was read of names and lists stays here, as tasks are sent their own videos."""
        state = super().__getstate__()
        return {**state, "__dict__": {name: getattr(self, name) for name in type(self).model_fields}}

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The videos that have captions, in the order of the captions; without captions all of the BigFile."""
        entries = []
        for video_id, captions in self._captions(drops).items():
            try:
                check_id(video_id)
                if video_id not in self._rows:
                    raise UnusableError(Reason.MISSING_FILE, f"{self.feature_folder} has no frame of {video_id}")
            except UnusableError as fault:
                drops.drop(fault.reason, str(fault))
                continue
            content = BigFileContent(captions, self._rows[video_id])
            entries.append(VideoEntry(video_id, content, self._split(video_id)))
        return entries

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from video.content.captions

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video`, with the values of a frame."""
        return (FeatureSpec("video", self._file.shape[1]),)

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:
        """The row of a video. StorageError where the file cannot be read, which is no fault of the video."""
        where = f"{self._file.location / 'feature.bin'}, {video.video_id}"
        captions, rows = video.content
        try:
            frames = self._file.read_ranges(rows)
            check_values(frames, where)
            return Video(video.video_id, captions, {"video": to_float16(frames, where)})
        except OSError as error:
            raise StorageError(f"{where} cannot be read ({error}); run the same command again to resume") from error
        except UnusableError as fault:
            drops.drop(fault.reason, str(fault))
            return None

    def _split(self, video_id: str) -> str | None:  # noqa: ARG002  a collection is one data set
        return None

    def _captions(self, drops: Drops) -> Mapping[str, tuple[str, ...]]:
        """The captions of every video."""
        if self.captions_file is None:
            return dict.fromkeys(self._rows, ())
        captions: dict[str, list[str]] = {}
        lines = [line for line in read_lines(locate(self.captions_file)) if line.strip()]
        for number, line in enumerate(lines, start=1):
            where = f"{self.captions_file}, line {number}"
            try:
                video_id, caption = self._cut(line)
                if not tokenise(caption):
                    raise UnusableError(Reason.EMPTY_CAPTION, f"the caption {caption[:40]!r} holds no word")
            except UnusableError as fault:
                drops.drop(fault.reason, f"{where}: {fault}")
            else:
                captions.setdefault(video_id, []).append(caption)
        return {video_id: tuple(texts) for video_id, texts in captions.items()}

    def _cut(self, line: str) -> tuple[str, str]:
        """Video and caption of a line; UnusableError for a line of another form."""
        key, _, caption = line.strip().partition(" ")
        video_id, mark, _ = key.partition("#")
        if not mark or not video_id:
            raise UnusableError(Reason.BAD_LINE, f"{line[:40]!r} is not <video>#<number> and a caption")
        return video_id, caption.strip()

    @cached_property
    def _file(self) -> BigFile:
        return BigFile(locate(self.feature_folder))

    @cached_property
    def _rows(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """The rows of every video's vectors, as ranges; InputError for a name without a number."""
        if self.single:
            return {name: ((row, 1),) for name, row in self._file.row.items()}
        frames_of: dict[str, list[tuple[int, int]]] = {}
        for name, row in self._file.row.items():
            video, _, number = name.rpartition("_")
            if not video or not number.isdigit():
                raise InputError(
                    f"{self._file.location / 'id.txt'}: {name[:80]!r} is not <video>_<number>; with --single every "
                    "vector is a video"
                )
            frames_of.setdefault(video, []).append((int(number), row))
        return {video: ranges([row for _, row in sorted(frames)]) for video, frames in frames_of.items()}


class Tgif(BigFileVideos):
    """A GIF's id is the name of its file in the URL, without the ending; features are a BigFile of those ids."""

    name: ClassVar[str] = "tgif"

    captions_file: str | None = None
    """The release's tgif-v1.0.tsv: lines of a URL, a tab and a sentence."""
    splits_folder: str | None = None
    """Folder of train.txt, val.txt and test.txt, URLs line by line (default: all GIFs are one data set)."""

    def _split(self, video_id: str) -> str | None:
        return self._split_of.get(video_id) if self.splits_folder else None

    def _captions(self, drops: Drops) -> Mapping[str, tuple[str, ...]]:
        if self.captions_file is None:
            raise InputError("vtr ingest tgif needs --captions-file, the release's tgif-v1.0.tsv")
        return super()._captions(drops)

    def _cut(self, line: str) -> tuple[str, str]:
        url, tab, caption = line.partition("\t")
        video_id = gif_id(url)
        if not tab or not video_id:
            raise UnusableError(Reason.BAD_LINE, f"{line[:40]!r} is not a URL, a tab and a sentence")
        if tokenise(caption) and self.splits_folder and video_id not in self._split_of:
            raise UnusableError(Reason.UNKNOWN_VIDEO, f"{video_id} is in no list of {self.splits_folder}")
        return video_id, caption.strip()

    @cached_property
    def _split_of(self) -> dict[str, str]:
        assert self.splits_folder is not None
        folder, splits = locate(self.splits_folder), dict[str, str]()
        for split in ("train", "val", "test"):
            if storage.exists(folder / f"{split}.txt"):
                splits.update({gif_id(line): split for line in filled_lines(folder / f"{split}.txt")})
        if not splits:
            raise InputError(f"{folder} holds no train.txt, val.txt, test.txt; give TGIF's lists")
        return splits


def gif_id(url: str) -> str:
    """The name of a URL's file without its ending."""
    return PurePosixPath(urlsplit(url.strip()).path).stem


class Trecvid(BigFileVideos):
    """Shots by their ids (shot35345_1), as topics' judgements call them; TV2016TRAIN has two captions a video.

    vtr index and vtr search --topics … --judgements … give the infAP of a collection.
    """

    name: ClassVar[str] = "trecvid"

    collection: Literal["iacc.3", "v3c1", "tv2016train"] = "iacc.3"
    """iacc.3, v3c1: shots without captions. tv2016train: videos with captions, to choose checkpoints by."""

    def _captions(self, drops: Drops) -> Mapping[str, tuple[str, ...]]:
        if (self.collection == "tv2016train") != (self.captions_file is not None):
            has = "has" if self.captions_file is None else "has no"
            raise InputError(
                f"vtr ingest trecvid: {self.collection} {has} captions; "
                f"{'give' if self.captions_file is None else 'leave out'} --captions-file"
            )
        return super()._captions(drops)
