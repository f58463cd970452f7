"""Figures of `vtr analyze cooccurrence`: the matrix of the strongest pairs, and grids of a concept's videos."""

import io
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread

from pipelines.analyze.cooccurrence_findings import CooccurrenceFindings, GridVideo
from pipelines.report.axes import blank_figure
from vtr_core.errors import InputError
from vtr_core.retrieval.explain.frames import Picture

_COLUMNS = 5


def matrix_figure(found: CooccurrenceFindings) -> Figure:
    """Correlation of the presence of all concepts that are in a strongest pair."""
    size = len(found.concepts)
    figure = blank_figure(0.24 * size + 3, 0.24 * size + 2)
    axes = figure.subplots()
    values = 100 * np.array(found.correlation)
    np.fill_diagonal(values, np.nan)
    most = np.nanmax(np.abs(values))
    image = axes.imshow(values, cmap="coolwarm", vmin=-most, vmax=most)
    axes.set_xticks(range(size), found.concepts, rotation=90, fontsize=7, parse_math=False)
    axes.set_yticks(range(size), found.concepts, fontsize=7, parse_math=False)
    axes.set_title(
        f"{found.videos} videos: concepts of the {len(found.pairs)} strongest pairs", loc="left", fontsize=10
    )
    figure.colorbar(image, ax=axes, label="correlation of presence, %", shrink=0.8)
    return figure


def grid_figure(concept: str, videos: Sequence[GridVideo], pictures: Mapping[str, Picture]) -> Figure:
    """Figure 5.11: the first frames of the videos with the highest labels of a concept; a caption where there is none.

    Titles name the video, its label, and the concepts of the other grids that it has too.
    """
    rows = -(-len(videos) // _COLUMNS)
    figure = blank_figure(2.6 * _COLUMNS, 2.0 * rows + 0.5)
    places = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
    for axes, video in zip(places, videos, strict=False):
        _cell(axes, video, pictures[video.video_id])
    for axes in places:
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_frame_on(False)
    figure.suptitle(f"{concept}: the {len(videos)} videos of the highest labels", fontsize=11, parse_math=False)
    return figure


def _cell(axes: Axes, video: GridVideo, picture: Picture) -> None:
    title = " ".join([video.video_id, f"{video.label:.2f}", *(f"+ {name}" for name in video.others)])
    axes.set_title(
        textwrap.shorten(title, 34), fontsize=8, parse_math=False, color="#c44e52" if video.others else "black"
    )
    if picture.content:
        axes.imshow(_pixels(picture))
        return
    told = textwrap.fill(textwrap.shorten(video.caption, 110, placeholder=" …"), 26)
    axes.text(0.5, 0.5, told, ha="center", va="center", fontsize=8, parse_math=False, transform=axes.transAxes)


def _pixels(picture: Picture) -> np.ndarray:
    try:
        return imread(io.BytesIO(picture.content), format=picture.media_type.removeprefix("image/"))
    except (OSError, ValueError, SyntaxError) as error:
        raise InputError(f"the picture of {picture.item_id} cannot be read ({error}); replace it") from error
