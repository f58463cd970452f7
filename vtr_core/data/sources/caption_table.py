"""Captions of a table with id, caption and split: of listed videos, or alone, of nothing that is seen."""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from pydantic import PositiveInt

from vtr_core.config.settings import SourceSettings
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.files import cell_text, check_id, check_label, read_table
from vtr_core.data.sources.published_captions import AnnotatedVideo
from vtr_core.data.sources.source import Drops, Video, VideoEntry
from vtr_core.storage import locate
from vtr_core.text.tokens.vocabulary import tokenise
from vtr_core.unusable import Reason, UnusableError


def read_captions(uri: str, drops: Drops) -> list[AnnotatedVideo]:
    """The videos of the table at `uri`, a row for each caption: columns id and caption, optionally split.

    Rows of one id are the captions of one video, in their order, repeated and empty ones too, since vectors belong to
    captions by position. Durations, which the table lacks, are 0. Rows of an id that cannot name a file, or of a video
    that is in another split already, are dropped and counted. InputError for a missing or damaged table.
    """

    def check(name: str, _: str) -> None:
        check_id(name)

    return _grouped(uri, ("id", "caption"), check, drops)


def _grouped(uri: str, columns: Sequence[str], check: Callable[[str, str], None], drops: Drops) -> list[AnnotatedVideo]:
    """The captions of each id in the order of the table; rows that fail `check` of (id, caption) are dropped."""
    captions: dict[str, list[str]] = {}
    splits: dict[str, str | None] = {}
    for number, row in enumerate(read_table(locate(uri), columns), start=1):
        name, caption, split = (cell_text(row.get(column)) or "" for column in ("id", "caption", "split"))
        name = name if "id" in columns else name or f"row{number}"
        try:
            check(name, caption)
            if split:
                check_id(split)  # it becomes a folder
            if splits.get(name, split or None) != (split or None):
                message = f"{name} is in the split {splits[name]} already, and cannot be in {split or None}"
                raise UnusableError(Reason.SPLIT_CONFLICT, message)
        except UnusableError as fault:
            drops.drop(fault.reason, f"{uri}, row {number}: {fault}")
        else:
            splits[name] = split or None
            captions.setdefault(name, []).append(caption)
    return [AnnotatedVideo(name, splits[name], 0.0, tuple(texts)) for name, texts in captions.items()]


class Captions(SourceSettings):
    """The table has caption, and optionally id and split; rows with the same id are captions of the same thing.

    A data set of whole videos whose feature no video has: an epoch reads one caption of each id. Without an id each row
    is a thing of its own.
    """

    name: ClassVar[str] = "captions"

    table: str
    """CSV, TSV, JSON lines (.jsonl) or Parquet."""
    feature: str = "video"
    """The name of the feature that models of the data set read where there are videos."""
    dim: PositiveInt = 1
    """Its dimension."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """The feature that every row lacks."""
        return (FeatureSpec(self.feature, self.dim),)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The ids in the order of the table; `VideoEntry.content` is the tuple of captions."""

        def check(name: str, caption: str) -> None:
            check_label(name)
            if not tokenise(caption):
                raise UnusableError(Reason.EMPTY_CAPTION, f"{name}: the caption {caption!r} holds no word")

        grouped = _grouped(self.table, ("caption",), check, drops)
        return [VideoEntry(video.video_id, video.captions, video.split) for video in grouped]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from video.content

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:  # noqa: ARG002  all sources' are called alike
        """The captions of an id, without any feature."""
        return Video(video.video_id, video.content, {})
