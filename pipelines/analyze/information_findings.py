"""Distribution and extremes of the information content of a corpus, and the paper's Figure 1."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from matplotlib.figure import Figure
from rich.text import Text

from pipelines.report.bar_figure import blank_figure, name_axes
from pipelines.report.printed_page import Printed, blank_table
from vtr_core.config.losses import Reading
from vtr_core.data.captions import InformationTable, VideoCaptions
from vtr_core.data.shards.shard_file import caption_key
from vtr_core.losses.granularity import SENTENCE_DECIMALS, VIDEO_DECIMALS


@dataclass(frozen=True)
class RatedCaption:
    """A caption of a video and its information content."""

    video_id: str
    caption: str
    value: float


@dataclass(frozen=True)
class Spread:
    """Histogram of values of captions or videos, with bins ascending, and their mean and standard deviation."""

    bins: tuple[float, ...]
    counts: tuple[int, ...]
    mean: float
    deviation: float


@dataclass(frozen=True)
class InformationFindings:
    """Findings under one reading: the distributions over sentences and videos, and the extreme captions."""

    reading: Reading
    corpus: str
    videos: int
    captions: int
    sentences: Spread
    by_video: Spread
    lowest: tuple[RatedCaption, ...]
    highest: tuple[RatedCaption, ...]
    """Distinct captions of highest value, each text of a video once; ties in the order of the corpus."""

    def to_json(self) -> dict[str, object]:
        """The findings as JSON."""
        return asdict(self)


def findings(videos: Sequence[VideoCaptions], table: InformationTable, top: int) -> InformationFindings:
    """The findings of a corpus's table. Sentences are the distinct captions of every video."""
    texts = [(video, caption) for video in videos for caption in video.captions]
    keys = [(video.video_key, caption_key(caption)) for video, caption in texts]
    first = {pair: place for place, pair in reversed(list(enumerate(keys)))}
    places = sorted(first.values())
    pairs = np.array([keys[place] for place in places], np.int64).reshape(-1, 2)
    values = table.of_captions(pairs[:, 0].copy(), pairs[:, 1].copy())
    order = np.argsort(values, kind="stable")

    def rated(chosen: np.ndarray) -> tuple[RatedCaption, ...]:
        found = [(texts[places[i]], float(values[i])) for i in chosen.tolist()]
        return tuple(RatedCaption(video.video_id, caption, value) for (video, caption), value in found)

    return InformationFindings(
        reading=table.reading,
        corpus=table.corpus,
        videos=len(videos),
        captions=len(texts),
        sentences=_spread(values, SENTENCE_DECIMALS),
        by_video=_spread(table.video_value, VIDEO_DECIMALS),
        lowest=rated(order[:top]),
        highest=rated(np.argsort(-values, kind="stable")[:top]),
    )


def _spread(values: np.ndarray, decimals: int) -> Spread:
    found, counts = np.unique(np.round(values, decimals), return_counts=True)
    return Spread(tuple(found.tolist()), tuple(counts.tolist()), float(values.mean()), float(values.std()))


_ENDS = {
    "leave_one_out": ("tail: nobody else said so", "head: what all others said"),
    "corpus": ("tail: unlike the corpus", "head: like many captions"),
    "idf": ("head: common words", "tail: rare words"),
}


def printed(found: InformationFindings) -> list[Printed]:
    """The findings as tables."""
    title = f"{found.reading}: {found.captions} captions of {found.videos} videos"
    spread = blank_table(title, "", "number", "bins", "mean", "deviation", "lowest", "highest")
    for name, one in (("sentences", found.sentences), ("videos", found.by_video)):
        ends = (one.bins[0], one.bins[-1])
        cells = [f"{value:.2f}" for value in (one.mean, one.deviation, *ends)]
        spread.add_row(name, str(sum(one.counts)), str(len(one.bins)), *cells)
    parts: list[Printed] = [spread]
    for end, captions in zip(_ENDS[found.reading], (found.lowest, found.highest), strict=True):
        table = blank_table("", "caption", "value", "video")
        for rated in captions:
            table.add_row(Text(rated.caption), f"{rated.value:.2f}", Text(rated.video_id))
        parts += [f"{found.reading}, {end}:", table]
    return parts


def information_figure(found: Sequence[InformationFindings]) -> Figure:
    """Histograms of sentences (left) and videos (right), one row for each reading."""
    figure = blank_figure(11, 3.0 * len(found))
    places = figure.subplots(len(found), 2, squeeze=False)
    for row, one in zip(places, found, strict=True):
        for axes, name, spread in zip(row, ("sentences", "videos"), (one.sentences, one.by_video), strict=True):
            width = 0.9 * min((b - a for a, b in zip(spread.bins, spread.bins[1:], strict=False)), default=0.1)
            axes.bar(spread.bins, spread.counts, width=width, color="#4c72b0")
            axes.axvline(spread.mean, color="#c44e52", linewidth=1)
            name_axes(axes, f"information content, {one.reading}", "number", f"{name}, the mean in red")
    return figure
