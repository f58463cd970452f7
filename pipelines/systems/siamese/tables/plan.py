"""What a table of verification is made of: data, base preset, rows, and the subjects of every round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vtr_core.errors import ConfigError, nearest
from pipelines.systems.siamese.tables.flags import PROG, SiameseTableFlags

if TYPE_CHECKING:
    from vtr_core.data.plan.subject_groups import GroupSplit
    from vtr_core.data.sources.faces.lfw_folder import LfwFolder
    from pipelines.systems.siamese.tables.paper import FaceTable, PaperRow


@dataclass(frozen=True)
class FacePlan:
    """What a table is made of: its rows, and the subjects of every round; of LFW the numbers of folds."""

    flags: SiameseTableFlags
    changes: Mapping[str, Any]
    table: "FaceTable"
    faces: "str | LfwFolder"
    preset: str
    splits: "Sequence[GroupSplit]"
    size: int
    """How many subjects the data have, of LFW how many pairs: what `FaceTable.least` is compared with."""


def face_plan(flags: SiameseTableFlags, changes: Mapping[str, Any]) -> FacePlan:
    """The plan of given flags; ConfigError where they contradict each other."""
    from vtr_core.data.sources.faces.lfw_folder import lfw_folder
    from pipelines.systems.siamese.tables.paper import ATT, LFW

    if (flags.faces is None) == (flags.lfw is None):
        raise ConfigError(f"{PROG} takes one of --faces FOLDER (a folder per subject) and --lfw FOLDER (a copy of LFW)")
    if flags.faces is not None:
        splits = _splits(flags)
        subjects = sum(map(len, vars(splits[0]).values()))
        return FacePlan(flags, changes, ATT, flags.faces, flags.preset or "siamese-att-small", splits, subjects)
    if flags.margins:
        raise ConfigError("--margins is for --faces; LFW's folds validate each other, and two losses have margins")
    assert flags.lfw is not None
    folder = lfw_folder(flags.lfw)
    splits = _fold_splits(folder)
    return FacePlan(flags, changes, LFW, folder, flags.preset or "siamese-lfw", splits, folder.num_pairs)


def _splits(flags: SiameseTableFlags) -> "Sequence[GroupSplit]":
    """Rounds of groups of subjects in random order."""
    from vtr_core.data.plan.subject_groups import group_split, held_out_groups
    from vtr_core.data.sources.faces.folder import Faces
    from vtr_core.data.sources.source import Drops

    assert flags.faces is not None
    subjects = [entry.video_id for entry in Faces(root=flags.faces).videos(Drops())]
    groups = held_out_groups(subjects, flags.group_size, flags.seed)
    splits = [group_split(subjects, groups, number) for number in range(len(groups))]
    return [split.without_validation() for split in splits] if flags.margins else splits


def _fold_splits(folder: "LfwFolder") -> "Sequence[GroupSplit]":
    """Every fold of View 2 tests once, the next one validates, the people of all others train."""
    from vtr_core.data.plan.subject_groups import group_split

    names = [str(fold) for fold in range(folder.folds)]
    if len(names) < 3:
        raise ConfigError(f"{folder.pairs} has {len(names)} folds; at least 3 test, validate and train (LFW's has 10)")
    return [group_split(names, [(name,) for name in names], number) for number in range(len(names))]


def wanted_rows(flags: SiameseTableFlags, table: "FaceTable") -> "Sequence[PaperRow]":
    """The rows to train: those of --only, or all; ConfigError for a name that is none of them."""
    rows = {row.name: row for row in table.rows}
    unknown = [name for name in flags.only if name not in rows]
    if unknown:
        hint = nearest(unknown[0], rows, f"rows: {', '.join(rows)}")
        raise ConfigError(f"{PROG}: there is no row {unknown[0]!r}; {hint}")
    return [rows[name] for name in flags.only] or table.rows


def wanted_groups(flags: SiameseTableFlags, count: int) -> Sequence[int]:
    """The numbers of the groups to train for: those of --groups, or all; ConfigError for one that is not there."""
    wrong = [number for number in flags.groups if not 0 <= number < count]
    if wrong:
        raise ConfigError(f"{PROG}: there is no group {wrong[0]}; groups are 0 to {count - 1}")
    return flags.groups or range(count)
