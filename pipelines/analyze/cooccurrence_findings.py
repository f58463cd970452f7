"""Strongest pairs of concepts of a data set, the videos of single concepts, and their figures."""

import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread
from rich.text import Text

from pipelines.report.bar_figure import blank_figure
from pipelines.report.printed_page import Printed, blank_table
from vtr_core.analysis.concept_detectors import ConceptPair, cooccurrence, strongest_pairs
from vtr_core.data.captions import VideoCaptions, video_captions
from vtr_core.data.concepts.concept_table import ConceptTable
from vtr_core.data.manifest import Manifest
from vtr_core.errors import DatasetError, InputError
from vtr_core.retrieval.explain.key_frames import Picture


@dataclass(frozen=True)
class GridVideo:
    """A video of a concept: its label in (0, 1], its first caption, and which other concepts of the grids it has."""

    video_id: str
    label: float
    caption: str
    others: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """All videos of a concept, the highest labels first, of equal ones in the order of the data set."""

    concept: str
    videos: tuple[GridVideo, ...]


@dataclass(frozen=True)
class CooccurrenceFindings:
    """The strongest pairs, and the correlations of the concepts in them, in the order of the concepts' frequency."""

    data: str
    videos: int
    num_concepts: int
    pairs: tuple[ConceptPair, ...]
    concepts: tuple[str, ...]
    """Names of the concepts in the pairs."""
    correlation: tuple[tuple[float, ...], ...]
    """Of every two of `concepts`."""
    names: tuple[str, ...]
    grids: tuple[Grid, ...]

    def to_json(self) -> dict[str, object]:
        """The findings as JSON."""
        pairs = [
            {**asdict(pair), "first": self.names[pair.first], "second": self.names[pair.second]} for pair in self.pairs
        ]
        value = asdict(self)
        del value["names"]
        return {**value, "pairs": pairs}


def findings(
    manifest: Manifest, table: ConceptTable, num_concepts: int, pairs: int, fewest_videos: int, grid: Sequence[str]
) -> CooccurrenceFindings:
    """The findings of a data set that is in the concept table; DatasetError where no pair is in enough videos.

    grid: concepts whose videos are listed; without any those of the strongest pair.
    """
    videos = list(video_captions(manifest))
    names = table.names[:num_concepts]
    labels = table.soft_labels(np.array([video.video_key for video in videos], np.int64), len(names))
    found = cooccurrence(labels > 0)
    strongest = strongest_pairs(found, pairs, fewest_videos)
    if not strongest:
        raise DatasetError(
            f"{manifest.uri}: no two of {len(names)} concepts are in {fewest_videos} videos together; lower "
            "--fewest-videos, or raise --num-concepts"
        )
    inside = sorted({number for pair in strongest for number in (pair.first, pair.second)})
    shown = [names.index(name) for name in grid] or [strongest[0].first, strongest[0].second]
    return CooccurrenceFindings(
        data=manifest.uri,
        videos=len(videos),
        num_concepts=len(names),
        pairs=tuple(strongest),
        concepts=tuple(names[number] for number in inside),
        correlation=tuple(tuple(found.correlation[number, inside].tolist()) for number in inside),
        names=names,
        grids=tuple(_grid(number, shown, names, videos, labels) for number in shown),
    )


def _grid(
    concept: int, shown: Sequence[int], names: Sequence[str], videos: Sequence[VideoCaptions], labels: np.ndarray
) -> Grid:
    order = np.argsort(-labels[:, concept], kind="stable")
    return Grid(
        names[concept],
        tuple(
            GridVideo(
                video_id=videos[row].video_id,
                label=float(labels[row, concept]),
                caption=next(iter(videos[row].captions), ""),
                others=tuple(names[other] for other in shown if other != concept and labels[row, other] > 0),
            )
            for row in order.tolist()
            if labels[row, concept] > 0
        ),
    )


def printed(found: CooccurrenceFindings) -> list[Printed]:
    """The strongest pairs as a table, and a line for each grid."""
    table = blank_table(
        f"{found.data}: the strongest pairs of {found.num_concepts} concepts on {found.videos} videos, in percent",
        "", "", "videos with both", "correlation", "of the first", "of the second",
    )  # fmt: skip
    for pair in found.pairs:
        shares = (f"{100 * share:.1f}" for share in (pair.correlation, pair.share_of_first, pair.share_of_second))
        table.add_row(Text(found.names[pair.first]), Text(found.names[pair.second]), str(pair.together), *shares)
    return [table, *(_grid_line(grid) for grid in found.grids)]


def _grid_line(grid: Grid) -> str:
    others = list(dict.fromkeys(name for video in grid.videos for name in video.others))
    shares = ", ".join(f"{sum(name in video.others for video in grid.videos)} with {name}" for name in others)
    return f"  {grid.concept}: {len(grid.videos)} videos" + (f", {shares}" if shares else "")


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
