"""Rows a second of folders of features: as given, as `vtr extract` recorded, or as published; what contradicts them.

A wrong rate is silent: at 1 row a second in place of 1.5, the clip from second 60 gets the rows of second 90. So a rate
is read where it is recorded, and streams of one video have to last equally long.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, TypeAlias

from vtr_core import storage
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate
from vtr_core.unusable import Reason, UnusableError

RECORD = "extraction.json"
"""The record of `vtr extract --features-only`, above the folders of its recipes."""
RATES = "rows_per_second"
"""By folder, in that record."""

Kind = Literal["2d", "3d", "audio"]
PUBLISHED: Mapping[Kind, float] = {"2d": 1.0, "3d": 1.5, "audio": 1.0}
"""HowTo100M's features (Miech et al. 2019): a frame a second, and 24 frames a second in windows of 16."""
TOLERANCE_S = 1.0
"""Seconds that the streams of a video may differ by: the rows of a second more or less."""
PROBES, PROBED_NAMES = 5, 100
"""Videos with all streams that are looked at before an ingest, among the first names; where all of them contradict the
rates, none is right. A list of a million videos may have few files, and each name is a request on object stores."""


def rows_per_second(uri: str, given: float | None, kind: Kind, flag: str) -> float:
    """Rows a second of a folder: the record's, `given` where there is none, else the published rate of its kind.

    InputError where `given`, the value of `flag`, is not the record's.
    """
    recorded = _recorded(locate(uri))
    if recorded is None:
        return PUBLISHED[kind] if given is None else given
    if given is not None and given != recorded:
        raise InputError(f"{flag} {given:g}: {RECORD} beside {uri} says {recorded:g} rows a second; leave the flag out")
    return recorded


def _recorded(folder: Location) -> float | None:
    record = folder.parent / RECORD
    if not storage.exists(record):
        return None
    content: Any = storage.read_json(record)
    rates = content.get(RATES) if isinstance(content, dict) else None
    rate = rates.get(folder.name) if isinstance(rates, dict) else None
    return float(rate) if isinstance(rate, (int, float)) and rate > 0 else None


Lasting: TypeAlias = tuple[str, int, float]
"""Of a stream of a video: the flag of its rate, its rows, and rows a second."""


def contradiction(video_id: str, streams: Sequence[Lasting]) -> UnusableError | None:
    """The error of a video whose streams last unequally long, by more than TOLERANCE_S; None where they agree."""
    seconds = [rows / rate for _, rows, rate in streams]
    if not seconds or max(seconds) - min(seconds) <= TOLERANCE_S:
        return None
    lasting = "; ".join(
        f"{rows} rows at {rate:g} a second ({flag}) last {rows / rate:.1f} s" for flag, rows, rate in streams
    )
    message = f"the streams of {video_id} differ by {max(seconds) - min(seconds):.1f} s: {lasting}"
    return UnusableError(Reason.STREAMS_DISAGREE, f"{message}; give their rates by these flags, or extract them again")


def check_durations(video_id: str, streams: Sequence[Lasting]) -> None:
    """Raises the `contradiction` of a video's streams, if there is one."""
    fault = contradiction(video_id, streams)
    if fault is not None:
        raise fault


def check_first(faults: Iterable[UnusableError | None]) -> None:
    """InputError where the first PROBES videos all contradict the rates; faults: of each video its `contradiction`.

    No further video is read after one that agrees.
    """
    first: list[UnusableError] = []
    for fault in islice(faults, PROBES):
        if fault is None:
            return
        first.append(fault)
    if first:
        raise InputError(f"the first {len(first)} videos all contradict the rates of their features: {first[0]}")
