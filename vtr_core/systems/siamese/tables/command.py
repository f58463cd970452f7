"""`vtr tables siamese --faces FOLDER` or `--lfw FOLDER`: the paper's table on AT&T or LFW, by unseen subjects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.arguments import parse_with_changes, print_help, wants_help
from vtr_core.errors import ConfigError, RunConflict, nearest

if TYPE_CHECKING:
    from vtr_core.data.plan.subject_groups import GroupSplit
    from vtr_core.data.sources.faces.lfw_folder import LfwFolder
    from vtr_core.run.config import TrainConfig
    from vtr_core.systems.siamese.tables.face_runs import FaceRuns
    from vtr_core.systems.siamese.tables.margin_choice import MarginChoice
    from vtr_core.systems.siamese.tables.paper import FaceTable, PaperRow

PROG = "vtr tables siamese"
FILE = "figures.json"
DOUBLE_MARGINS = ("loss.margin_positive", "loss.margin_negative")
"""Settings that the contrastive loss lacks; it has loss.margin."""


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
    out: str = "runs/tables-siamese"
    """Folder of the data sets, runs and table; finished runs are reused."""
    experiment: str = "vtr-tables"
    """MLflow experiment."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help(PROG, SiameseTableFlags)
        return
    flags, changes = parse_with_changes(SiameseTableFlags, argv, PROG)
    print(tables(flags, changes))


@dataclass(frozen=True)
class FacePlan:
    """What a table is made of: its rows, and the subjects of every round; of LFW the numbers of folds."""

    flags: SiameseTableFlags
    changes: Mapping[str, Any]
    table: "FaceTable"
    faces: "str | LfwFolder"
    preset: str
    splits: "Sequence[GroupSplit]"


def tables(flags: SiameseTableFlags, changes: Mapping[str, Any]) -> str:
    """Trains and evaluates missing rows, group by group, writes `table.md` after each run, and returns the page.

    At the end `figures.svg` shows the finished models of one group side by side.
    """
    from pipelines.report.links import print_link
    from vtr_core.run.presets import preset
    from vtr_core.storage import locate

    plan = _plan(flags, changes)
    wanted = _rows(flags, plan.table)
    numbers = _numbers(flags, len(plan.splits))
    preset(plan.preset)
    _finished_rows(plan)  # refuses a folder of other splits before any training
    for row in plan.table.rows:
        _check_settings(plan, row)
    for number in numbers:
        for row in wanted:
            _run(plan, number, row)
            _write(plan)
    page = _write(plan)
    print_link(locate(flags.out) / "table.md")
    _draw(plan)
    return page


def _plan(flags: SiameseTableFlags, changes: Mapping[str, Any]) -> FacePlan:
    from vtr_core.data.sources.faces.lfw_folder import lfw_folder
    from vtr_core.systems.siamese.tables.paper import ATT, LFW

    if (flags.faces is None) == (flags.lfw is None):
        raise ConfigError(f"{PROG} takes one of --faces FOLDER (a folder per subject) and --lfw FOLDER (a copy of LFW)")
    if flags.faces is not None:
        return FacePlan(flags, changes, ATT, flags.faces, flags.preset or "siamese-att-small", _splits(flags))
    if flags.margins:
        raise ConfigError("--margins is for --faces; LFW's folds validate each other, and two losses have margins")
    assert flags.lfw is not None
    folder = lfw_folder(flags.lfw)
    return FacePlan(flags, changes, LFW, folder, flags.preset or "siamese-lfw", _fold_splits(folder))


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


def _rows(flags: SiameseTableFlags, table: "FaceTable") -> "Sequence[PaperRow]":
    rows = {row.name: row for row in table.rows}
    unknown = [name for name in flags.only if name not in rows]
    if unknown:
        hint = nearest(unknown[0], rows, f"rows: {', '.join(rows)}")
        raise ConfigError(f"{PROG}: there is no row {unknown[0]!r}; {hint}")
    return [rows[name] for name in flags.only] or table.rows


def _numbers(flags: SiameseTableFlags, count: int) -> Sequence[int]:
    wrong = [number for number in flags.groups if not 0 <= number < count]
    if wrong:
        raise ConfigError(f"{PROG}: there is no group {wrong[0]}; groups are 0 to {count - 1}")
    return flags.groups or range(count)


def _run(plan: FacePlan, number: int, row: "PaperRow") -> None:
    """Metrics of one row on one group, computed if missing."""
    from pipelines.tables.runs import settings_of
    from vtr_core import storage
    from vtr_core.config.override import override
    from vtr_core.storage import locate
    from vtr_core.systems.siamese.tables.face_runs import FaceRuns

    if _finished(plan, row, number) is not None:
        return
    flags, split, folder = plan.flags, plan.splits[number], _folder(plan, row, number)
    config = settings = _config(plan, row)
    print(f"\n=== {config.preset}, group {number}: {', '.join(split.test)}", flush=True)
    runs = FaceRuns(plan.faces, flags.size, flags.seed, flags.out, flags.experiment)
    if flags.margins:
        choice = _choice(flags, runs, config, number, split, folder)
        config, threshold = override(config, {"loss.margin": choice.margin}), choice.threshold
        data, run = runs.data(f"group-{number}-refit", split), f"{folder}/refit"
    else:
        data, run, threshold = runs.data(f"group-{number}", split), f"{folder}/run", None
    checkpoint = runs.checkpoint(config, data, run)
    figures = _figures(flags, checkpoint, data, threshold)
    storage.write_json(locate(folder) / FILE, {"split": vars(split), "settings": settings_of(settings), **figures})


def _choice(
    flags: SiameseTableFlags, runs: "FaceRuns", config: "TrainConfig", number: int, split: "GroupSplit", folder: str
) -> "MarginChoice":
    from vtr_core.data.plan.subject_groups import folds
    from vtr_core.systems.siamese.tables.margin_choice import choose_margin

    parts = folds(split.train, flags.folds, flags.seed)
    return choose_margin(runs, config, flags.margins, parts, f"group-{number}", folder)


def _figures(flags: SiameseTableFlags, checkpoint: str, data: str, threshold: float | None) -> dict[str, Any]:
    """Metrics on training and test subjects, in percent, and the settings that they depend on."""
    from vtr_core.systems.siamese.commands.command import VerificationFlags
    from vtr_core.systems.siamese.commands.evaluate import evaluate

    uris = (f"{data}/train", f"{data}/test")
    train, test = evaluate(VerificationFlags(checkpoint, uris, threshold, experiment=flags.experiment))
    figures = {**train.metric_values("train"), **test.metric_values("test")}
    return {"figures": figures, "margin": test.at_margin.threshold, "threshold": test.metrics.threshold}


def _config(plan: FacePlan, row: "PaperRow") -> "TrainConfig":
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


def _finished(plan: FacePlan, row: "PaperRow", number: int) -> Mapping[str, float] | None:
    """Stored metrics of a row and group; RunConflict where they are of another split."""
    from vtr_core import storage
    from vtr_core.storage import locate

    place = locate(_folder(plan, row, number)) / FILE
    if not storage.exists(place):
        return None
    saved = storage.read_json(place)
    if saved["split"] != {name: list(part) for name, part in vars(plan.splits[number]).items()}:
        raise RunConflict(
            f"{place} is of other subjects or of another way to validate than this table; repeat its --seed, "
            "--group-size and --margins, or choose another --out"
        )
    return saved["figures"]


def _check_settings(plan: FacePlan, row: "PaperRow") -> None:
    """RunConflict where a row's figures were made with other settings than these."""
    from pipelines.tables.runs import check_against
    from vtr_core import storage
    from vtr_core.storage import locate

    config = _config(plan, row)
    for number in range(len(plan.splits)):
        place = locate(_folder(plan, row, number)) / FILE
        if storage.exists(place):
            check_against(storage.read_json(place).get("settings"), config, str(place))


def _folder(plan: FacePlan, row: "PaperRow", number: int) -> str:
    return f"{plan.flags.out.rstrip('/')}/{row.name}/group-{number}"


def _finished_rows(plan: FacePlan) -> dict[str, list[Mapping[str, float]]]:
    """By row, the metrics of each finished group."""
    figures: dict[str, list[Mapping[str, float]]] = {}
    for row in plan.table.rows:
        found = [_finished(plan, row, number) for number in range(len(plan.splits))]
        figures[row.name] = [values for values in found if values is not None]
    return figures


def _write(plan: FacePlan) -> str:
    """Writes `table.md` and `table.json` of all finished groups and returns the page."""
    from vtr_core import storage
    from vtr_core.storage import locate
    from vtr_core.systems.siamese.tables.paper import markdown

    figures, groups = _finished_rows(plan), len(plan.splits)
    page = f"{_head(plan)}\n{markdown(plan.table, figures, groups)}"
    storage.write_bytes(locate(plan.flags.out) / "table.md", page.encode())
    storage.write_json(locate(plan.flags.out) / "table.json", {"groups": groups, "figures": figures})
    return page


def _draw(plan: FacePlan) -> None:
    """Writes `figures.svg`, the paper's Figures 1 and 2, of all rows that have finished the first group of any."""
    from pipelines.report.links import print_link
    from vtr_core import storage
    from vtr_core.storage import locate
    from vtr_core.systems.siamese.tables.figures import draw, drawn_model

    for number in range(len(plan.splits)):
        finished = [row for row in plan.table.rows if _finished(plan, row, number) is not None]
        if finished:
            break
    else:
        return
    part, run = (f"group-{number}-refit", "refit") if plan.flags.margins else (f"group-{number}", "run")
    data = f"{plan.flags.out.rstrip('/')}/data/{part}/test"
    models = [drawn_model(row.title, f"{_folder(plan, row, number)}/{run}", data) for row in finished]
    storage.write_bytes(locate(plan.flags.out) / "figures.svg", draw(models))
    print_link(locate(plan.flags.out) / "figures.svg")


def _head(plan: FacePlan) -> str:
    flags = plan.flags
    settings = "".join(f" --{name} {value}" for name, value in plan.changes.items())
    return (
        f"# Siamese capsule networks: Table 1, {plan.table.title}, on {flags.faces or flags.lfw}\n\nVariants of "
        f"`{plan.preset}`{settings}; {_rounds(flags, len(plan.splits))}.\n"
    )


def _rounds(flags: SiameseTableFlags, groups: int) -> str:
    if flags.lfw is not None:
        return f"{groups} folds of View 2 test in turn, the next one validates, the people of all others train"
    tested = f"{groups} disjoint groups of {flags.group_size} test subjects"
    if not flags.margins:
        return f"{tested}, the next group validates, all others train"
    margins = ", ".join(f"{margin:g}" for margin in flags.margins)
    return (
        f"{tested}, all others train, after {flags.folds}-fold cross-validation by subject over them for the margin "
        f"(of {margins}) and the threshold"
    )
