"""Strongest pairs of concepts of a data set, the videos of single concepts, and their figures."""

import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread

from pipelines.report.bar_figure import blank_figure
from vtr_core.analysis.concept_detectors import cooccurrence, strongest_pairs
from vtr_core.data.captions import VideoCaptions, video_captions
from vtr_core.data.concepts.concept_table import ConceptTable
from vtr_core.data.manifest import Manifest
from vtr_core.errors import DatasetError, InputError
from vtr_core.retrieval.explain.pages import Picture


def cooccurrence_values(
    manifest: Manifest, table: ConceptTable, num_concepts: int, pairs: int, fewest_videos: int, grid: Sequence[str]
) -> dict[str, Any]:
    """The strongest pairs, the correlations of the concepts in them by frequency, and the videos of single concepts.

    grid: concepts whose videos are listed; without any those of the strongest pair. DatasetError where no pair is in
    enough videos.
    """
    videos = list(video_captions(manifest))
    names = table.names[:num_concepts]
    labels = table.soft_labels(np.array([video.video_key for video in videos], np.int64), len(names))
    counts = cooccurrence(labels > 0)
    strongest = strongest_pairs(counts, pairs, fewest_videos)
    if not strongest:
        raise DatasetError(
            f"{manifest.uri}: no two of {len(names)} concepts are in {fewest_videos} videos together; lower "
            "--fewest-videos, or raise --num-concepts"
        )
    inside = sorted({number for pair in strongest for number in (pair.first, pair.second)})
    shown = [names.index(name) for name in grid] or [strongest[0].first, strongest[0].second]
    return {
        "data": manifest.uri,
        "videos": len(videos),
        "num_concepts": len(names),
        "pairs": [{**asdict(pair), "first": names[pair.first], "second": names[pair.second]} for pair in strongest],
        "concepts": [names[number] for number in inside],
        "correlation": [counts.correlation[number, inside].tolist() for number in inside],
        "grids": [{"concept": names[n], "videos": _grid(n, shown, names, videos, labels)} for n in shown],
    }


def _grid(
    concept: int, shown: Sequence[int], names: Sequence[str], videos: Sequence[VideoCaptions], labels: np.ndarray
) -> list[dict[str, Any]]:
    """All videos of a concept, the highest labels first, of equal ones in the order of the data set."""
    order = np.argsort(-labels[:, concept], kind="stable")
    return [
        {
            "video_id": videos[row].video_id,
            "label": float(labels[row, concept]),
            "caption": next(iter(videos[row].captions), ""),
            "others": [names[other] for other in shown if other != concept and labels[row, other] > 0],
        }
        for row in order.tolist()
        if labels[row, concept] > 0
    ]


_COLUMNS = 5


def matrix_figure(values: Mapping[str, Any]) -> Figure:
    """Correlation of the presence of all concepts that are in a strongest pair."""
    names = values["concepts"]
    figure = blank_figure(0.24 * len(names) + 3, 0.24 * len(names) + 2)
    axes = figure.subplots()
    percent = 100 * np.array(values["correlation"])
    np.fill_diagonal(percent, np.nan)
    most = np.nanmax(np.abs(percent))
    image = axes.imshow(percent, cmap="coolwarm", vmin=-most, vmax=most)
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7, parse_math=False)
    axes.set_yticks(range(len(names)), names, fontsize=7, parse_math=False)
    figure.colorbar(image, ax=axes, label=f"correlation of presence in {values['videos']} videos, %", shrink=0.8)
    return figure


def grid_figure(concept: str, videos: Sequence[Mapping[str, Any]], pictures: Mapping[str, Picture]) -> Figure:
    """Figure 5.11: the first frames of the videos with the highest labels of a concept; a caption where there is none.

    Titles name the video, its label, and the concepts of the other grids that it has too.
    """
    rows = -(-len(videos) // _COLUMNS)
    figure = blank_figure(2.6 * _COLUMNS, 2.0 * rows + 0.5)
    places = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
    for axes, video in zip(places, videos, strict=False):
        _cell(axes, video, pictures[video["video_id"]])
    for axes in places:
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_frame_on(False)
    figure.suptitle(f"{concept}: the {len(videos)} videos of the highest labels", fontsize=11, parse_math=False)
    return figure


def _cell(axes: Axes, video: Mapping[str, Any], picture: Picture) -> None:
    title = " ".join([video["video_id"], f"{video['label']:.2f}", *(f"+ {name}" for name in video["others"])])
    colour = "#c44e52" if video["others"] else "black"
    axes.set_title(textwrap.shorten(title, 34), fontsize=8, parse_math=False, color=colour)
    if picture.content:
        axes.imshow(_pixels(picture))
        return
    caption = textwrap.fill(textwrap.shorten(video["caption"], 110, placeholder=" …"), 26)
    axes.text(0.5, 0.5, caption, ha="center", va="center", fontsize=8, parse_math=False, transform=axes.transAxes)


def _pixels(picture: Picture) -> np.ndarray:
    try:
        return imread(io.BytesIO(picture.content), format=picture.media_type.removeprefix("image/"))
    except (OSError, ValueError, SyntaxError) as error:
        raise InputError(f"the picture of {picture.item_id} cannot be read ({error}); replace it") from error
