"""vtr analyze cooccurrence: concepts that videos have together, measured and drawn."""

import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import tyro
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread

from pipelines.arguments import check_counts, parse, print_help, wants_help, written_as_json
from pipelines.report.figures import blank_figure
from vtr_core.analysis.concept_detectors import cooccurrence, strongest_pairs
from vtr_core.data.captions import VideoCaptions, video_captions
from vtr_core.data.concepts.concept_table import ConceptTable
from vtr_core.data.manifest import Manifest
from vtr_core.errors import ConfigError, DatasetError, InputError
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


@dataclass(frozen=True)
class CooccurrenceFlags:
    """Flags of `vtr analyze cooccurrence`."""

    data: Annotated[str, tyro.conf.Positional]
    """Data set of videos or clips, or a folder of splits, of which the training videos are taken."""
    out: str
    """Output folder of cooccurrence.json and figures/."""
    concepts: str | None = None
    """Concept table with these videos (default: the folder concepts in or beside the data)."""
    num_concepts: int = 512
    """Number of concepts, the most frequent of the table."""
    pairs: int = 30
    """Number of strongest pairs."""
    fewest_videos: int = 5
    """Minimum number of videos that have both concepts of a pair."""
    grid: tuple[str, ...] = ()
    """Concepts whose videos are shown, such as stroller baby (default: both of the strongest pair)."""
    grid_videos: int = 15
    """Number of videos in a grid."""
    keyframes: str | None = None
    """Folder of <video id>.jpg or .png for the grids (default: the data set's thumbnails; else a caption is shown)."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr analyze cooccurrence", CooccurrenceFlags)
        return
    flags = parse(CooccurrenceFlags, argv, "vtr analyze cooccurrence")
    with written_as_json(flags.json, flags.out, "cooccurrence.json", "cooccurrence.json"):
        analyze(flags)


def analyze(flags: CooccurrenceFlags) -> dict[str, Any]:
    """Count the videos of concepts and pairs, and write the numbers and the figures."""
    from pipelines.report.logged_run import write_figure
    from vtr_core import storage
    from vtr_core.data.shards.thumbnails import Thumbnails
    from vtr_core.retrieval.explain.pages import check_frames, read_pictures
    from vtr_core.storage import check_writable, locate

    check_counts(
        "vtr analyze cooccurrence",
        num_concepts=flags.num_concepts, pairs=flags.pairs, fewest_videos=flags.fewest_videos,
        grid_videos=flags.grid_videos,
    )  # fmt: skip
    folder = locate(flags.out)
    check_writable(folder)
    keyframes = None if flags.keyframes is None else locate(flags.keyframes)
    check_frames(keyframes)
    manifest, table = _inputs(flags)
    sizes = flags.num_concepts, flags.pairs, flags.fewest_videos
    values = cooccurrence_values(manifest, table, *sizes, _cooccurrence_grid(flags, table))
    storage.write_json(folder / "cooccurrence.json", values)
    write_figure(folder / "figures" / "matrix.png", matrix_figure(values))
    for number, grid in enumerate(values["grids"]):
        cells = grid["videos"][: flags.grid_videos]
        pictures = read_pictures(keyframes, [video["video_id"] for video in cells], Thumbnails(manifest))
        write_figure(folder / "figures" / f"grid_{number}.png", grid_figure(grid["concept"], cells, pictures))
    print(f"written     {folder.uri}: cooccurrence.json, {1 + len(values['grids'])} figures")
    return values


def _inputs(flags: CooccurrenceFlags) -> "tuple[Manifest, ConceptTable]":
    """The data set and the concept table that contains it."""
    from vtr_core import storage
    from vtr_core.data.concepts.concept_table import FILE, ConceptTable
    from vtr_core.data.manifest import Manifest, data_set
    from vtr_core.run.inputs import concept_places
    from vtr_core.storage import locate

    uri = data_set(flags.data, "train")
    places = [locate(flags.concepts)] if flags.concepts else concept_places(locate(flags.data), locate(uri))
    folder = next((place for place in places if storage.exists(place / FILE)), places[0])
    manifest, table = Manifest.load(uri), ConceptTable.load(folder.uri)
    table.require_dataset(manifest.uri, manifest.fingerprint)
    return manifest, table


def _cooccurrence_grid(flags: CooccurrenceFlags, table: "ConceptTable") -> tuple[str, ...]:
    names = table.names[: flags.num_concepts]
    unknown = [name for name in flags.grid if name not in names]
    if unknown:
        raise ConfigError(
            f"vtr analyze cooccurrence: --grid {' '.join(unknown)}: not among the {len(names)} most frequent concepts "
            f"of {table.uri}; names are like {', '.join(names[:3])}"
        )
    return flags.grid
