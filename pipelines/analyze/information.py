"""`vtr analyze information`: the information content of a corpus's captions, with the paper's Figure 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from pipelines.arguments import check_counts, parse, print_help, wants_help, written_as_json
from vtr_core.errors import ConfigError


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
    """Compute the values of each reading or load them from the cache, and write the numbers and the figure."""
    from typing import get_args

    from pipelines.analyze.information_findings import information_figure, information_values
    from pipelines.report.logged_run import write_figure
    from vtr_core import storage
    from vtr_core.config.losses import Reading
    from vtr_core.data.captions import information_table, training_captions
    from vtr_core.storage import check_writable, locate

    known: tuple[Reading, ...] = get_args(Reading)
    readings = [reading for reading in known if reading in flags.reading]
    wrong = [name for name in flags.reading if name not in known]
    if wrong or not readings:
        raise ConfigError(f"vtr analyze information: --reading {' '.join(wrong)}: readings are {', '.join(known)}")
    check_counts("vtr analyze information", top=flags.top)
    folder = locate(flags.out)
    check_writable(folder)
    videos = training_captions(flags.data, flags.videos)
    found = [information_values(videos, information_table(videos, reading, folder), flags.top) for reading in readings]
    storage.write_json(folder / "information.json", {"data": flags.data, "readings": found})
    write_figure(folder / "figures" / "information.png", information_figure(found))
    print(f"written     {folder.uri}: information.json, figures/information.png, a table for each reading")
    return found
