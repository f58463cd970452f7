"""The rows of a table of own data, checked one by one and against each other."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from vtr_core.data.sources.files.tables import Row, read_table
from vtr_core.data.sources.names import check_id, check_label, check_path
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.errors import ConfigError
from vtr_core.storage import locate
from vtr_core.text.tokens.vocabulary import tokenise


@dataclass(frozen=True)
class PairRow:
    """A clip with one caption. `files[f]` is the path of feature f, None where the clip lacks it; times in seconds."""

    clip_id: str
    video_id: str
    split: str | None
    start: float | None
    end: float | None
    caption: str
    files: tuple[str | None, ...]
    metadata: tuple[tuple[str, str], ...] = ()
    """Name and text of every kept column."""

    @property
    def content(self) -> tuple[object, ...]:
        """The values that all rows of a clip must share."""
        return self.video_id, self.start, self.end, self.files


@dataclass
class PairRows:
    """Reads rows and detects contradictions between them."""

    columns: Sequence[str]
    keep: Sequence[str] = ()
    """Columns to keep as text."""
    anywhere: bool = False
    """Whether files may be named by absolute paths and URIs."""
    clips: dict[str, tuple[object, ...]] = field(default_factory=dict)
    captions: set[tuple[str, str]] = field(default_factory=set)
    splits: dict[str, str | None] = field(default_factory=dict)

    def read(self, row: Row) -> PairRow:
        """The row as a PairRow; UnusableError where it is invalid or contradicts an earlier one."""
        files = tuple(_text(row.get(column)) for column in self.columns)
        clip_id = _text(row["id"])
        if clip_id is None:
            raise UnusableError(Reason.UNSAFE_ID, "the id is empty; every clip needs one")
        start, end = _times(row, clip_id)
        video_id = _text(row.get("video_id")) or clip_id
        split, caption = _text(row.get("split")), _text(row["caption"]) or ""
        metadata = tuple((name, _text(row.get(name)) or "") for name in self.keep)
        pair = PairRow(clip_id, video_id, split, start, end, caption, files, metadata)
        _check(pair, self.anywhere)
        self._check_against_others(pair)
        return pair

    def _check_against_others(self, pair: PairRow) -> None:
        if self.clips.setdefault(pair.clip_id, pair.content) != pair.content:
            what = f"{pair.clip_id} was given before with another video, time or file; an id is for one clip"
            raise UnusableError(Reason.DUPLICATE_ID, what)
        if (pair.clip_id, pair.caption) in self.captions:
            raise UnusableError(Reason.DUPLICATE_ID, f"{pair.clip_id}: the same row again")
        if self.splits.setdefault(pair.video_id, pair.split) != pair.split:
            what = f"{pair.clip_id}: its video {pair.video_id} is in the split {self.splits[pair.video_id]} already"
            raise UnusableError(Reason.SPLIT_CONFLICT, f"{what}, and cannot be in {pair.split}")
        self.captions.add((pair.clip_id, pair.caption))


def table_rows(uri: str, columns: Sequence[str]) -> Iterator[Row]:
    """The raw rows of the table at `uri`, which needs id, caption and the feature `columns`, else InputError."""
    yield from read_table(locate(uri), ("id", "caption", *columns))


def kept_columns(names: Sequence[str]) -> tuple[str, ...]:
    """`names`, under which columns of a table can be kept; ConfigError for others."""
    for name in names:
        if not name.isidentifier() or names.count(name) > 1:
            raise ConfigError(f"the column {name!r} cannot be kept; name each once, of letters, digits and _ alone")
    return tuple(names)


def _check(pair: PairRow, anywhere: bool) -> None:
    check_label(pair.clip_id)
    check_label(pair.video_id)
    if pair.split is not None:
        check_id(pair.split)  # it becomes a folder
    if not tokenise(pair.caption):
        raise UnusableError(Reason.EMPTY_CAPTION, f"{pair.clip_id}: the caption {pair.caption!r} holds no word")
    if not any(pair.files):
        raise UnusableError(Reason.NO_FEATURES, f"{pair.clip_id} names no feature file")
    for path in pair.files:
        if path is not None:
            check_label(path) if anywhere else check_path(path)


def _times(row: Row, clip_id: str) -> tuple[float | None, float | None]:
    """Start and end, both or neither."""
    given = [_text(row.get(name)) for name in ("start", "end")]
    if given == [None, None]:
        return None, None
    try:
        start, end = (float(value or "nan") for value in given)
    except ValueError:
        start = end = math.nan
    if not (0 <= start < math.inf and 0 <= end < math.inf):
        what = (
            f"{clip_id}, from {row.get('start')} to {row.get('end')} s: times must be seconds from 0 on, or both empty"
        )
        raise UnusableError(Reason.BAD_TIME, what)
    if end <= start:
        raise UnusableError(
            Reason.END_BEFORE_START, f"{clip_id}, from {start:g} to {end:g} s: the end must come after the start"
        )
    return start, end


def _text(value: object) -> str | None:
    """A cell as text; None where it is empty."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return str(value).strip() or None
