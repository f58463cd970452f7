"""`vtr tables siamese --faces FOLDER` or `--lfw FOLDER`: its flags."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.arguments import parse_with_changes, print_help, wants_help, written_as_json

PROG = "vtr tables siamese"


@dataclass(frozen=True)
class SiameseTableFlags:
    """Flags of `vtr tables siamese`; settings of all runs are given as --a.b value."""

    faces: str | None = None
    """Folder with a folder of images per subject, such as AT&T's."""
    lfw: str | None = None
    """Copy of Labeled Faces in the Wild: pairs.txt (View 2) and a folder of photographs per person. Its ten folds are
    the test groups, in colour, with every row also with a double margin."""
    preset: str | None = None
    """Base preset, whose variants are the rows (default: siamese-att-small, with --lfw siamese-lfw); siamese-att has
    the published sizes, for a GPU."""
    only: tuple[str, ...] = ()
    """Rows to train, by variant: scn, drop-caps, lenet, alexnet, resnet-34, inception-v3; with --lfw also
    double-margin, double-margin-lenet and so on (default: all). Finished rows are always shown."""
    groups: tuple[int, ...] = ()
    """Numbers of the test groups to train for, from 0 (default: all)."""
    group_size: int = 5
    """Subjects per test group."""
    margins: tuple[float, ...] = ()
    """Select margin and threshold among these by cross-validation over all non-test subjects, then train on all of
    them; takes `folds` runs per margin and one more (default: the preset's margin, and the threshold of the next
    group)."""
    folds: int = 5
    """Cross-validation folds."""
    size: int | None = None
    """Resize images to this many rows and columns at ingest (default: original size; with --lfw 100)."""
    seed: int = 0
    """Random seed of the groups, folds and pairs."""
    max_concurrent: int = 1
    """Number of trainings of a group at the same time, under Ray Tune, as far as the cluster has room; with --margins
    they are one after another."""
    out: str = "runs/tables-siamese"
    """Folder of the data sets, runs and table; finished runs are reused."""
    experiment: str = "vtr-tables"
    """MLflow experiment."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help(PROG, SiameseTableFlags)
        return
    flags, changes = parse_with_changes(SiameseTableFlags, argv, PROG)
    from pipelines.systems.siamese.face_rounds import tables

    with written_as_json(flags.json, flags.out, "tables.md", "tables.json"):
        print(tables(flags, changes))
