"""Captions without videos: a table of them, for training what reads words alone."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from pydantic import PositiveInt

from vtr_core.config.settings import SourceSettings
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.files.tables import read_table
from vtr_core.data.sources.names import check_id, check_label
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops, Video, VideoEntry
from vtr_core.storage import locate
from vtr_core.text.tokens.vocabulary import tokenise


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
        texts: dict[str, list[str]] = {}
        splits: dict[str, str | None] = {}
        for number, row in enumerate(read_table(locate(self.table), ("caption",)), start=1):
            name, split = _text(row.get("id")) or f"row{number}", _text(row.get("split")) or None
            caption = _text(row["caption"])
            try:
                _check(name, split, caption, splits)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{self.table}, row {number}: {fault}")
            else:
                splits[name] = split
                texts.setdefault(name, []).append(caption)
        return [VideoEntry(name, tuple(given), splits[name]) for name, given in texts.items()]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from video.content

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:  # noqa: ARG002  all sources' are called alike
        """The captions of an id, without any feature."""
        return Video(video.video_id, video.content, {})


def _check(name: str, split: str | None, caption: str, splits: dict[str, str | None]) -> None:
    check_label(name)
    if split is not None:
        check_id(split)  # it becomes a folder
    if not tokenise(caption):
        raise UnusableError(Reason.EMPTY_CAPTION, f"{name}: the caption {caption!r} holds no word")
    if splits.get(name, split) != split:
        what = f"{name} is in the split {splits[name]} already, and cannot be in {split}"
        raise UnusableError(Reason.SPLIT_CONFLICT, what)


def _text(value: object) -> str:
    """A cell as text; "" where it is empty."""
    return "" if value is None or value != value else str(value).strip()  # NaN in Parquet
