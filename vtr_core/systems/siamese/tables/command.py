"""`vtr tables siamese --faces FOLDER`: the paper's table on AT&T's faces, by groups of unseen subjects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.arguments import parse_with_changes, print_help, wants_help
from vtr_core.errors import ConfigError, RunConflict

if TYPE_CHECKING:
    from vtr_core.data.plan.subject_groups import GroupSplit
    from vtr_core.run.config import TrainConfig
    from vtr_core.systems.siamese.tables.face_runs import FaceRuns
    from vtr_core.systems.siamese.tables.margin_choice import MarginChoice

PROG = "vtr tables siamese"
VARIANTS = ("", "drop-caps", "lenet", "alexnet", "resnet-34", "inception-v3")
FILE = "figures.json"


@dataclass(frozen=True)
class SiameseTableFlags:
    """Flags of `vtr tables siamese`; settings of all runs are given as --a.b value."""

    faces: str
    """Folder with a folder of images per subject."""
    preset: str = "siamese-att-small"
    """Base preset, whose variants are the rows; siamese-att has the published sizes, for a GPU."""
    only: tuple[str, ...] = ()
    """Rows to train, by variant: scn, drop-caps, lenet, alexnet, resnet-34, inception-v3 (default: all). Finished rows
    are always shown."""
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
    """Resize images to this many rows and columns at ingest (default: original size)."""
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


def tables(flags: SiameseTableFlags, changes: Mapping[str, Any]) -> str:
    """Trains and evaluates missing rows, group by group, writes `table.md` after each run, and returns the page."""
    from pipelines.report.links import print_link
    from vtr_core.data.plan.subject_groups import group_split, held_out_groups
    from vtr_core.data.sources.faces.folder import Faces
    from vtr_core.data.sources.source import Drops
    from vtr_core.run.presets import preset
    from vtr_core.storage import locate

    wanted = _variants(flags)
    subjects = [entry.video_id for entry in Faces(root=flags.faces).videos(Drops())]
    groups = held_out_groups(subjects, flags.group_size, flags.seed)
    numbers = _numbers(flags, len(groups))
    splits = [group_split(subjects, groups, number) for number in range(len(groups))]
    if flags.margins:
        splits = [split.without_validation() for split in splits]
    preset(flags.preset)
    _finished_rows(flags, splits)  # refuses a folder of other splits before any training
    for variant in VARIANTS:
        _check_settings(flags, variant, _config(flags, changes, variant), len(groups))
    for number in numbers:
        for variant in wanted:
            _run(flags, changes, number, splits[number], variant)
            _write(flags, changes, splits)
    page = _write(flags, changes, splits)
    print_link(locate(flags.out) / "table.md")
    return page


def _variants(flags: SiameseTableFlags) -> Sequence[str]:
    names = {variant or "scn": variant for variant in VARIANTS}
    unknown = [name for name in flags.only if name not in names]
    if unknown:
        raise ConfigError(f"{PROG}: there is no row {unknown[0]!r}; rows: {', '.join(names)}")
    return [names[name] for name in flags.only] or VARIANTS


def _numbers(flags: SiameseTableFlags, count: int) -> Sequence[int]:
    wrong = [number for number in flags.groups if not 0 <= number < count]
    if wrong:
        raise ConfigError(f"{PROG}: there is no group {wrong[0]}; groups are 0 to {count - 1}")
    return flags.groups or range(count)


def _run(flags: SiameseTableFlags, changes: Mapping[str, Any], number: int, split: "GroupSplit", variant: str) -> None:
    """Metrics of one row on one group, computed if missing."""
    from pipelines.tables.runs import settings_of
    from vtr_core import storage
    from vtr_core.config.override import override
    from vtr_core.storage import locate
    from vtr_core.systems.siamese.tables.face_runs import FaceRuns

    if _finished(flags, variant, number, split) is not None:
        return
    folder = _folder(flags, variant, number)
    config = settings = _config(flags, changes, variant)
    print(f"\n=== {config.preset}, group {number}: {', '.join(split.test)}", flush=True)
    runs = FaceRuns(flags.faces, flags.size, flags.seed, flags.out, flags.experiment)
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


def _config(flags: SiameseTableFlags, changes: Mapping[str, Any], variant: str) -> "TrainConfig":
    """The row's configuration; changes of settings that its tower lacks are ignored."""
    from vtr_core.config.override import override
    from vtr_core.run.presets import preset
    from vtr_core.systems.siamese.config import SiameseConfig

    config = preset(f"{flags.preset}-{variant}" if variant else flags.preset)
    assert isinstance(config.model, SiameseConfig)
    capsules = config.model.tower.kind == "capsules"
    return override(config, {n: v for n, v in changes.items() if capsules or not n.startswith("model.tower.")})


def _finished(flags: SiameseTableFlags, variant: str, number: int, split: "GroupSplit") -> Mapping[str, float] | None:
    """Stored metrics of a row and group; RunConflict where they are of another split."""
    from vtr_core import storage
    from vtr_core.storage import locate

    place = locate(_folder(flags, variant, number)) / FILE
    if not storage.exists(place):
        return None
    saved = storage.read_json(place)
    if saved["split"] != {name: list(part) for name, part in vars(split).items()}:
        raise RunConflict(
            f"{place} is of other subjects or of another way to validate than this table; repeat its --seed, "
            "--group-size and --margins, or choose another --out"
        )
    return saved["figures"]


def _check_settings(flags: SiameseTableFlags, variant: str, config: "TrainConfig", groups: int) -> None:
    """RunConflict where a row's figures were made with other settings than these."""
    from pipelines.tables.runs import check_against
    from vtr_core import storage
    from vtr_core.storage import locate

    for number in range(groups):
        place = locate(_folder(flags, variant, number)) / FILE
        if storage.exists(place):
            check_against(storage.read_json(place).get("settings"), config, str(place))


def _folder(flags: SiameseTableFlags, variant: str, number: int) -> str:
    return f"{flags.out.rstrip('/')}/{variant or 'scn'}/group-{number}"


def _finished_rows(flags: SiameseTableFlags, splits: Sequence["GroupSplit"]) -> dict[str, list[Mapping[str, float]]]:
    """By variant, the metrics of each finished group."""
    figures: dict[str, list[Mapping[str, float]]] = {}
    for variant in VARIANTS:
        found = [_finished(flags, variant, number, split) for number, split in enumerate(splits)]
        figures[variant] = [values for values in found if values is not None]
    return figures


def _write(flags: SiameseTableFlags, changes: Mapping[str, Any], splits: Sequence["GroupSplit"]) -> str:
    """Writes `table.md` and `table.json` of all finished groups and returns the page."""
    from vtr_core import storage
    from vtr_core.storage import locate
    from vtr_core.systems.siamese.tables.paper import markdown

    figures = _finished_rows(flags, splits)
    page = f"{_head(flags, changes, len(splits))}\n{markdown(figures, len(splits))}"
    storage.write_bytes(locate(flags.out) / "table.md", page.encode())
    storage.write_json(locate(flags.out) / "table.json", {"groups": len(splits), "figures": figures})
    return page


def _head(flags: SiameseTableFlags, changes: Mapping[str, Any], groups: int) -> str:
    settings = "".join(f" --{name} {value}" for name, value in changes.items())
    ways = "the next group validates, all others train"
    if flags.margins:
        margins = ", ".join(f"{margin:g}" for margin in flags.margins)
        ways = (
            f"all others train, after {flags.folds}-fold cross-validation by subject over them for the margin (of "
            f"{margins}) and the threshold"
        )
    return (
        f"# Siamese capsule networks: Table 1 on {flags.faces}\n\nVariants of `{flags.preset}`{settings}; {groups} "
        f"disjoint groups of {flags.group_size} test subjects, {ways}.\n"
    )
