"""Statistics of a data set: captions, their words and lengths, seconds of clips, missing features."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from pipelines.data.contents import Row, all_rows
from vtr_core.data.manifest import Manifest

Statistics = dict[str, Any]
_BAR = 30
"""Letters of the longest bar."""


@dataclass(frozen=True)
class Counted:
    """The statistics of a data set, as JSON, and the lengths behind them by name, for histograms."""

    found: Statistics
    lengths: Mapping[str, Sequence[float]]


def statistics(manifest: Manifest, top: int = 20) -> Statistics:
    """Counts over all rows, as JSON; see `counted`."""
    return counted(manifest, top).found


def counted(manifest: Manifest, top: int = 20) -> Counted:
    """Counts over all rows; `top` words are listed.

    Words are what white space separates in a caption, in lower case. `present` is the share of rows with a feature.
    """
    rows = list(all_rows(manifest))
    captions = [caption for row in rows for caption in _captions(row)]
    words = [caption.lower().split() for caption in captions]
    counts = Counter(word for one in words for word in one)
    lengths: dict[str, list[float]] = {
        "rows per video": [count for shard in manifest.shards for group in shard.row_groups for count in group],
        "words per caption": [len(one) for one in words],
        "seconds": [row["end"] - row["start"] for row in rows if "start" in row],
    }
    found = {
        "data": manifest.uri,
        "kind": manifest.schema.label(),
        "rows": manifest.rows,
        "videos": manifest.videos,
        "rows_per_video": _spread(lengths["rows per video"]),
        "captions": len(captions),
        "different_captions": len(set(captions)),
        "different_words": len(counts),
        "words_per_caption": _spread(lengths["words per caption"]),
        "seconds": _spread(lengths["seconds"]),
        "present": {
            feature.name: _present(rows, feature.presence, feature.count) for feature in manifest.schema.features
        },
        "frequent_words": dict(counts.most_common(top)),
        "dropped": dict(manifest.dropped),
    }
    return Counted(found, {name: [one for one in values if isfinite(one)] for name, values in lengths.items()})


def _captions(row: Row) -> Sequence[str]:
    """The texts of a row: one caption, several, or the names of steps."""
    if "caption" in row:
        return [row["caption"]]
    return row.get("captions") or row.get("steps") or []


def _present(rows: Sequence[Row], flag: str, count: str) -> float:
    held = [bool(row[flag] if flag in row else row.get(count)) for row in rows]
    return sum(held) / len(held) if held else 0.0


def _spread(values: Iterable[float]) -> dict[str, float] | None:
    """Smallest, quartiles, largest and mean of finite values; None without any."""
    array = np.fromiter(values, dtype=np.float64)
    array = array[np.isfinite(array)]
    if not len(array):
        return None
    least, low, median, high, most = np.quantile(array, (0, 0.25, 0.5, 0.75, 1)).tolist()
    return {
        "least": least,
        "quarter": low,
        "median": median,
        "three_quarters": high,
        "most": most,
        "mean": float(array.mean()),
    }


def as_lines(found: Statistics) -> list[str]:
    """For a terminal."""
    lines = [f"{found['data']}: {found['rows']:,} rows, {found['videos']:,} videos, {found['kind']}"]
    for name, title in (
        ("rows_per_video", "rows per video"),
        ("words_per_caption", "words per caption"),
        ("seconds", "seconds"),
    ):
        if found[name] is not None:
            lines.append(f"  {title:18} {_spread_line(found[name])}")
    texts = f"{found['captions']:,}, {found['different_captions']:,} different; {found['different_words']:,} words"
    lines.append(f"  {'captions':18} {texts}")
    lines += [f"  {name:18} present in {share:.1%} of the rows" for name, share in found["present"].items()]
    lines += [f"  dropped            {count:,} {reason}" for reason, count in found["dropped"].items()]
    return [*lines, *_bars(found["frequent_words"])]


def _spread_line(spread: dict[str, float]) -> str:
    order = ("least", "quarter", "median", "three_quarters", "most")
    return (
        " · ".join(f"{spread[name]:g}" for name in order) + f"   mean {spread['mean']:.1f}   (least, quartiles, most)"
    )


def _bars(counts: dict[str, int]) -> list[str]:
    if not counts:
        return []
    most = max(counts.values())
    return [
        "",
        "  most frequent words",
        *(f"  {word[:20]:20} {'█' * max(1, _BAR * count // most)} {count:,}" for word, count in counts.items()),
    ]
