"""vtr analyze cooccurrence: the videos of concepts, and which of them have the other concepts too."""

import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import tyro
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image, ImageOps

from pipelines.arguments import check_counts, parse, print_help, wants_help, written_as_json
from pipelines.report.figures import blank_figure
from pipelines.report.logged_run import write_figure
from vtr_core import storage
from vtr_core.data.captions import video_captions
from vtr_core.data.concepts.concept_table import FILE, ConceptTable
from vtr_core.data.manifest import Manifest, data_set
from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.errors import ConfigError, InputError
from vtr_core.retrieval.explain.pages import Picture, check_frames, read_pictures
from vtr_core.run.inputs import concept_places
from vtr_core.storage import check_writable, locate


def cooccurrence_values(manifest: Manifest, table: ConceptTable, grid: Sequence[str]) -> dict[str, Any]:
    """The videos of each concept of `grid`, with the other concepts of it that they have.

    ConfigError for a concept that the table does not have.
    """
    names = table.names
    unknown = [name for name in grid if name not in names]
    if unknown:
        raise ConfigError(
            f"vtr analyze cooccurrence: --grid {' '.join(unknown)}: not among the {len(names)} concepts of "
            f"{table.uri}; names are like {', '.join(names[:3])}"
        )
    videos = list(video_captions(manifest))
    labels = table.soft_labels(np.array([video.video_key for video in videos], np.int64), len(names))
    shown, grids = [names.index(name) for name in grid], []
    for concept in shown:
        order = np.argsort(-labels[:, concept], kind="stable")  # highest first, equal ones in the data set's order
        cells = [
            {
                "video_id": videos[row].video_id,
                "label": float(labels[row, concept]),
                "caption": next(iter(videos[row].captions), ""),
                "others": [names[other] for other in shown if other != concept and labels[row, other] > 0],
            }
            for row in order.tolist()
            if labels[row, concept] > 0
        ]
        grids.append({"concept": names[concept], "videos": cells})
    return {"data": manifest.uri, "videos": len(videos), "grids": grids}


_COLUMNS = 5


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
        with Image.open(io.BytesIO(picture.content), formats=[picture.media_type.removeprefix("image/")]) as image:
            return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    except (OSError, ValueError, SyntaxError) as error:
        raise InputError(f"the picture of {picture.item_id} cannot be read ({error}); replace it") from error


@dataclass(frozen=True)
class CooccurrenceFlags:
    """Flags of `vtr analyze cooccurrence`."""

    data: Annotated[str, tyro.conf.Positional]
    """Data set of videos or clips, or a folder of splits, of which the training videos are taken."""
    grid: tuple[str, ...]
    """Concepts whose videos are shown, such as stroller baby."""
    out: str
    """Output folder of cooccurrence.json and figures/."""
    concepts: str | None = None
    """Concept table with these videos (default: the folder concepts in or beside the data)."""
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
    """Find the videos of the concepts, and write them and a figure of each concept."""
    check_counts("vtr analyze cooccurrence", grid_videos=flags.grid_videos)
    folder = locate(flags.out)
    check_writable(folder)
    keyframes = None if flags.keyframes is None else locate(flags.keyframes)
    check_frames(keyframes)
    uri = data_set(flags.data, "train")
    places = [locate(flags.concepts)] if flags.concepts else concept_places(locate(flags.data), locate(uri))
    table_folder = next((place for place in places if storage.exists(place / FILE)), places[0])
    manifest, table = Manifest.load(uri), ConceptTable.load(table_folder.uri)
    table.require_dataset(manifest.uri, manifest.fingerprint)
    values = cooccurrence_values(manifest, table, flags.grid)
    storage.write_json(folder / "cooccurrence.json", values)
    for number, grid in enumerate(values["grids"]):
        cells = grid["videos"][: flags.grid_videos]
        pictures = read_pictures(keyframes, [video["video_id"] for video in cells], Thumbnails(manifest))
        write_figure(folder / "figures" / f"grid_{number}.png", grid_figure(grid["concept"], cells, pictures))
    print(f"written     {folder.uri}: cooccurrence.json, {len(values['grids'])} figures")
    return values
