"""Plan of a table of verification: flags, data, rows with configurations, groups, finished figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vtr_core.errors import ConfigError, RunConflict, nearest
from vtr_core.storage.location import below

if TYPE_CHECKING:
    from pipelines.systems.siamese.siamese_paper import FaceTable, PaperRow
    from vtr_core.data.sources.lfw import LfwFolder
    from vtr_core.data.splits import GroupSplit
    from vtr_core.run.config import TrainConfig


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
    scn-double-margin and so on (default: all). Finished rows are always shown."""
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
    """Number of trainings at the same time, under Ray Tune, as far as the cluster has room; evaluation follows. With
    --margins those of the folds; the last training of each row, which nobody validates, follows alone."""
    out: str = "runs/tables-siamese"
    """Folder of the data sets, runs and table; finished runs are reused."""
    experiment: str = "vtr-tables"
    """MLflow experiment."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


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
    from pipelines.systems.siamese.siamese_paper import ATT, LFW
    from vtr_core.data.sources.lfw import lfw_folder

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
    from vtr_core.data.sources.faces import Faces
    from vtr_core.data.sources.source import Drops
    from vtr_core.data.splits import group_split, held_out_groups

    assert flags.faces is not None
    subjects = [entry.video_id for entry in Faces(root=flags.faces).videos(Drops())]
    groups = held_out_groups(subjects, flags.group_size, flags.seed)
    splits = [group_split(subjects, groups, number) for number in range(len(groups))]
    return [split.without_validation() for split in splits] if flags.margins else splits


def _fold_splits(folder: "LfwFolder") -> "Sequence[GroupSplit]":
    """Every fold of View 2 tests once, the next one validates, the people of all others train."""
    from vtr_core.data.splits import group_split

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


DOUBLE_MARGINS = ("loss.margin_positive", "loss.margin_negative")
"""Settings that the contrastive loss lacks; it has loss.margin."""


def row_config(plan: FacePlan, row: "PaperRow") -> "TrainConfig":
    """The row's configuration; changes of settings that its tower or loss lacks are ignored."""
    from vtr_core.config.override import override
    from vtr_core.run.presets import preset
    from vtr_core.systems.siamese.config import SiameseConfig

    config = preset(f"{plan.preset}-{row.variant}" if row.variant else plan.preset)
    assert isinstance(config.model, SiameseConfig)
    is_capsules = config.model.tower.kind == "capsules"
    if row.double_margin:
        config = override(config, {"loss.kind": "pair_double_margin", "preset": f"{config.preset}-double-margin"})
    lacking = (
        *(() if is_capsules else ("model.tower.",)),
        *(DOUBLE_MARGINS if config.loss.kind == "pair_contrastive" else ("loss.margin",)),
    )
    return override(config, {name: value for name, value in plan.changes.items() if not _within(name, lacking)})


def _within(name: str, settings: Sequence[str]) -> bool:
    """Whether a setting is one of these, or in a block, which ends with a dot, of these."""
    return any(name == setting or (setting.endswith(".") and name.startswith(setting)) for setting in settings)


FILE = "figures.json"


def finished_figures(plan: FacePlan, row: "PaperRow", number: int) -> Mapping[str, float] | None:
    """Stored metrics of a row and group; RunConflict where they are of another split."""
    from vtr_core import storage
    from vtr_core.storage import locate

    place = locate(group_folder(plan, row, number)) / FILE
    if not storage.exists(place):
        return None
    saved = storage.read_json(place)
    if saved["split"] != {name: list(part) for name, part in vars(plan.splits[number]).items()}:
        raise RunConflict(
            f"{place} is of other subjects or of another way to validate than this table; repeat its --seed, "
            "--group-size and --margins, or choose another --out"
        )
    return saved["figures"]


def check_settings(plan: FacePlan, row: "PaperRow") -> None:
    """RunConflict where a row's figures were made with other settings than these."""
    from pipelines.tables.runs import check_against
    from vtr_core import storage
    from vtr_core.storage import locate

    config = row_config(plan, row)
    for number in range(len(plan.splits)):
        place = locate(group_folder(plan, row, number)) / FILE
        if storage.exists(place):
            check_against(storage.read_json(place).get("settings"), config, str(place))


def group_folder(plan: FacePlan, row: "PaperRow", number: int) -> str:
    """The folder of a row's figures and runs for one group."""
    return below(plan.flags.out, f"{row.name}/group-{number}")


def finished_rows(plan: FacePlan) -> dict[str, list[Mapping[str, float]]]:
    """By row, the metrics of each finished group."""
    figures: dict[str, list[Mapping[str, float]]] = {}
    for row in plan.table.rows:
        found = [finished_figures(plan, row, number) for number in range(len(plan.splits))]
        figures[row.name] = [values for values in found if values is not None]
    return figures
