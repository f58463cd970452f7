"""`vtr analyze information`: the information content of a corpus's captions, with the paper's Figure 1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, get_args

import tyro

from pipelines.arguments import check_counts, parse, print_help, wants_help, written_as_json
from vtr_core.config.losses import Reading
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from vtr_core.data.captions import InformationTable, VideoCaptions

READINGS: tuple[Reading, ...] = get_args(Reading)


@dataclass(frozen=True)
class InformationFlags:
    """Flags of `vtr analyze information`."""

    data: Annotated[str, tyro.conf.Positional]
    """Folder of splits, data set, MSR-VTT annotations, or JSON file {video: [caption, …]}; of splits and annotations
    only the training captions are read."""
    out: str
    """Output folder of information.json, the figure and the table of values."""
    videos: str | None = None
    """For a JSON file: list of the training videos, one id per line, or the word all."""
    reading: tuple[str, ...] = ("leave_one_out", "corpus", "idf")
    """Definitions of information content: leave_one_out (CIDEr against the other captions of the video), corpus (CIDEr
    against all captions), idf (mean idf of the n-grams)."""
    top: int = 10
    """Number of captions listed at either end of the distribution."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr analyze information", InformationFlags)
        return
    flags = parse(InformationFlags, argv, "vtr analyze information")
    with written_as_json(flags.json, flags.out, "information.json", "information.json"):
        analyze(flags)


def analyze(flags: InformationFlags) -> list[dict[str, Any]]:
    """Compute the values of each reading, and write the numbers and the figure."""
    from pipelines.report.logged_run import write_figure
    from vtr_core import storage
    from vtr_core.data.captions import information_table, training_captions
    from vtr_core.storage import check_writable, locate

    readings = [reading for reading in READINGS if reading in flags.reading]
    wrong = [name for name in flags.reading if name not in READINGS]
    if wrong or not readings:
        raise ConfigError(f"vtr analyze information: --reading {' '.join(wrong)}: readings are {', '.join(READINGS)}")
    check_counts("vtr analyze information", top=flags.top)
    folder = locate(flags.out)
    check_writable(folder)
    videos = training_captions(flags.data, flags.videos)
    values = [information_values(videos, information_table(videos, reading), flags.top) for reading in readings]
    storage.write_json(folder / "information.json", {"data": flags.data, "readings": values})
    write_figure(folder / "figures" / "information.png", information_figure(values))
    print(f"written     {folder.uri}: information.json, figures/information.png")
    return values


def information_values(videos: "Sequence[VideoCaptions]", table: "InformationTable", top: int) -> dict[str, Any]:
    """The distributions over sentences and videos under one reading, and the `top` captions at either end.

    Sentences are the distinct captions of every video; ties are in the order of the corpus.
    """
    import numpy as np

    from vtr_core.losses.granularity import SENTENCE_DECIMALS, VIDEO_DECIMALS

    sentences: dict[tuple[int, int], tuple[str, str]] = {}
    for video in videos:
        for caption, key in zip(video.captions, video.keys, strict=True):
            sentences.setdefault((video.video_key, key), (video.video_id, caption))
    texts, keys = list(sentences.values()), np.array(list(sentences), np.int64).reshape(-1, 2)
    values = table.of_captions(keys[:, 0].copy(), keys[:, 1].copy())

    def histogram(own: "np.ndarray", decimals: int) -> dict[str, Any]:
        bins, counts = np.unique(np.round(own, decimals), return_counts=True)
        moments = {"mean": float(own.mean()), "deviation": float(own.std())}
        return {"bins": bins.tolist(), "counts": counts.tolist(), **moments}

    def rated(order: "np.ndarray") -> list[dict[str, Any]]:
        places = order[:top].tolist()
        return [{"video_id": texts[i][0], "caption": texts[i][1], "value": float(values[i])} for i in places]

    return {
        "reading": table.reading,
        "videos": len(videos),
        "captions": sum(len(video.captions) for video in videos),
        "sentences": histogram(values, SENTENCE_DECIMALS),
        "by_video": histogram(table.video_value, VIDEO_DECIMALS),
        "lowest": rated(np.argsort(values, kind="stable")),
        "highest": rated(np.argsort(-values, kind="stable")),
    }


def information_figure(readings: Sequence[Mapping[str, Any]]) -> "Figure":
    """Histograms of sentences (left) and videos (right), one row for each reading."""
    from pipelines.report.figures import blank_figure, name_axes

    figure = blank_figure(11, 3.0 * len(readings))
    for row, values in zip(figure.subplots(len(readings), 2, squeeze=False), readings, strict=True):
        for axes, name in zip(row, ("sentences", "by_video"), strict=True):
            bins = values[name]["bins"]
            width = 0.9 * min((b - a for a, b in pairwise(bins)), default=0.1)
            axes.bar(bins, values[name]["counts"], width=width, color="#4c72b0")
            axes.axvline(values[name]["mean"], color="#c44e52", linewidth=1)
            name_axes(axes, f"information content, {values['reading']}", "number", f"{name}, the mean in red")
    return figure
