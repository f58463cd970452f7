"""`vtr analyze cooccurrence`: concepts that videos have together, and the videos that a detector learns them from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from pipelines.arguments import check_counts, parse, print_help, wants_help, written_as_json
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.data.concepts.concept_table import ConceptTable
    from vtr_core.data.manifest import Manifest


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
    from pipelines.analyze.cooccurrence_figures import cooccurrence_values, grid_figure, matrix_figure
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
    values = cooccurrence_values(manifest, table, *sizes, _grid(flags, table))
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


def _grid(flags: CooccurrenceFlags, table: "ConceptTable") -> tuple[str, ...]:
    names = table.names[: flags.num_concepts]
    unknown = [name for name in flags.grid if name not in names]
    if unknown:
        raise ConfigError(
            f"vtr analyze cooccurrence: --grid {' '.join(unknown)}: not among the {len(names)} most frequent concepts "
            f"of {table.uri}; names are like {', '.join(names[:3])}"
        )
    return flags.grid
