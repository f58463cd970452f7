"""Distribution and extremes of the information content of a corpus, and the captioning paper's Figure 1."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pipelines.report.bar_figure import blank_figure, name_axes
from vtr_core.data.captions import InformationTable, VideoCaptions
from vtr_core.data.shards.shard_file import caption_key
from vtr_core.losses.granularity import SENTENCE_DECIMALS, VIDEO_DECIMALS


def information_values(videos: Sequence[VideoCaptions], table: InformationTable, top: int) -> dict[str, Any]:
    """The distributions over sentences and videos under one reading, and the `top` captions at either end.

    Sentences are the distinct captions of every video; ties are in the order of the corpus.
    """
    sentences: dict[tuple[int, int], tuple[str, str]] = {}
    for video in videos:
        for caption in video.captions:
            sentences.setdefault((video.video_key, caption_key(caption)), (video.video_id, caption))
    texts, keys = list(sentences.values()), np.array(list(sentences), np.int64).reshape(-1, 2)
    values = table.of_captions(keys[:, 0].copy(), keys[:, 1].copy())

    def rated(order: np.ndarray) -> list[dict[str, Any]]:
        places = order[:top].tolist()
        return [{"video_id": texts[i][0], "caption": texts[i][1], "value": float(values[i])} for i in places]

    return {
        "reading": table.reading,
        "corpus": table.corpus,
        "videos": len(videos),
        "captions": sum(len(video.captions) for video in videos),
        "sentences": _histogram(values, SENTENCE_DECIMALS),
        "by_video": _histogram(table.video_value, VIDEO_DECIMALS),
        "lowest": rated(np.argsort(values, kind="stable")),
        "highest": rated(np.argsort(-values, kind="stable")),
    }


def _histogram(values: np.ndarray, decimals: int) -> dict[str, Any]:
    bins, counts = np.unique(np.round(values, decimals), return_counts=True)
    moments = {"mean": float(values.mean()), "deviation": float(values.std())}
    return {"bins": bins.tolist(), "counts": counts.tolist(), **moments}


def information_figure(readings: Sequence[Mapping[str, Any]]) -> Figure:
    """Histograms of sentences (left) and videos (right), one row for each reading."""
    figure = blank_figure(11, 3.0 * len(readings))
    for row, values in zip(figure.subplots(len(readings), 2, squeeze=False), readings, strict=True):
        for axes, name in zip(row, ("sentences", "by_video"), strict=True):
            bins = values[name]["bins"]
            width = 0.9 * min((b - a for a, b in pairwise(bins)), default=0.1)
            axes.bar(bins, values[name]["counts"], width=width, color="#4c72b0")
            axes.axvline(values[name]["mean"], color="#c44e52", linewidth=1)
            name_axes(axes, f"information content, {values['reading']}", "number", f"{name}, the mean in red")
    return figure
