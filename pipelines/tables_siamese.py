"""`vtr tables siamese --faces FOLDER`: the paper's table on AT&T's faces, group by group of unseen subjects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.arguments import parse_with_changes, print_help, wants_help
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.config.train import TrainConfig
    from vtr_core.data.subject_groups import GroupSplit

PROG = "vtr tables siamese"
VARIANTS = ("", "drop-caps", "lenet", "alexnet", "resnet-34")
FILE = "figures.json"


@dataclass(frozen=True)
class SiameseTableFlags:
    """Whose faces, which models and groups; settings of all runs are given as --a.b value."""

    faces: str
    """Folder with a folder of images for each subject."""
    preset: str = "siamese-att-small"
    """The base whose variants are the rows; siamese-att has the paper's sizes, which take a GPU or patience."""
    only: tuple[str, ...] = ()
    """Rows to train, by variant: scn, drop-caps, lenet, alexnet, resnet-34 (default: all). Finished ones are shown."""
    groups: tuple[int, ...] = ()
    """Numbers of the test groups to train for, from 0 (default: all)."""
    group_size: int = 5
    """Subjects in a test group."""
    margins: tuple[float, ...] = ()
    """Choose the margin among these by cross-validation by subject, group by group (default: the preset's)."""
    folds: int = 5
    """Of that cross-validation."""
    size: int | None = None
    """Bring images to this many rows and columns when they are ingested (default: as they are)."""
    seed: int = 0
    """Of the groups, folds and pairs."""
    out: str = "runs/tables-siamese"
    """Folder for data sets, runs and the table; finished runs in it are taken as they are."""
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
    """Train and evaluate what is missing, group by group, writing `table.md` after each run; the page."""
    from pipelines.links import print_link
    from vtr_core.config.presets import preset
    from vtr_core.data.sources.faces import Faces
    from vtr_core.data.sources.source import Drops
    from vtr_core.data.subject_groups import group_split, held_out_groups
    from vtr_core.storage import locate

    wanted = _variants(flags)
    subjects = [entry.video_id for entry in Faces(root=flags.faces).videos(Drops())]
    groups = held_out_groups(subjects, flags.group_size, flags.seed)
    numbers = _numbers(flags, len(groups))
    preset(flags.preset)
    for number in numbers:
        split = group_split(subjects, groups, number)
        for variant in wanted:
            _run(flags, changes, number, split, variant)
            _write(flags, changes, len(groups))
    page = _write(flags, changes, len(groups))
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
    """One row's figures on one group, unless they are there."""
    from vtr_core import storage
    from vtr_core.storage import locate

    folder = _folder(flags, variant, number)
    if storage.exists(locate(folder) / FILE):
        return
    config = _config(flags, changes, variant)
    print(f"\n=== {config.preset}, group {number}: {', '.join(split.test)}", flush=True)
    data = _ingested(flags, f"group-{number}", split)
    if flags.margins:
        config = _with_margin(flags, config, number, split, folder)
    checkpoint = train_once(config, data, f"{folder}/run", flags.experiment)
    storage.write_json(locate(folder) / FILE, {"split": vars(split), **_figures(flags, checkpoint, data)})


def _figures(flags: SiameseTableFlags, checkpoint: str, data: str) -> dict[str, Any]:
    """The figures of the training and the test subjects, in percent, and the settings that decided."""
    from pipelines.evaluate_verification import VerificationFlags, evaluate

    uris = (f"{data}/train", f"{data}/test")
    train, test = evaluate(VerificationFlags(checkpoint, uris, experiment=flags.experiment))
    figures = {**train.metric_values("train"), **test.metric_values("test")}
    return {"figures": figures, "margin": test.at_margin.threshold, "threshold": test.metrics.threshold}


def _config(flags: SiameseTableFlags, changes: Mapping[str, Any], variant: str) -> "TrainConfig":
    """The row's configuration; changes of settings that a row's tower lacks are for the others."""
    from vtr_core.config.override import override
    from vtr_core.config.presets import preset

    config = preset(f"{flags.preset}-{variant}" if variant else flags.preset)
    capsules = config.model.model_dump()["tower"]["kind"] == "capsules"
    return override(config, {n: v for n, v in changes.items() if capsules or not n.startswith("model.tower.")})


def _with_margin(
    flags: SiameseTableFlags, config: "TrainConfig", number: int, split: "GroupSplit", folder: str
) -> "TrainConfig":
    """The configuration with the margin of highest mean validation accuracy; of equals the smallest."""
    from vtr_core import storage
    from vtr_core.config.override import override
    from vtr_core.data.subject_groups import folds
    from vtr_core.storage import locate
    from vtr_core.train.checkpoint import load_model

    others = [*split.train, *split.validation]
    means: dict[float, float] = {}
    for margin in sorted(flags.margins):
        found = []
        for fold, part in enumerate(folds(others, flags.folds, flags.seed)):
            data = _ingested(flags, f"group-{number}-fold-{fold}", part)
            place = f"{folder}/margin-{margin:g}-fold-{fold}"
            checkpoint = train_once(override(config, {"loss.margin": margin}), data, place, flags.experiment)
            value = load_model(checkpoint).progress.best_value
            assert value is not None, "every fold has validation subjects"
            found.append(value)
        means[margin] = sum(found) / len(found)
    best = max(means, key=lambda margin: (means[margin], -margin))
    storage.write_json(
        locate(folder) / "margins.json", {"metric": config.training.metric, "means": means, "best": best}
    )
    print(f"margin {best:g} of {', '.join(f'{m:g}: {v:.4f}' for m, v in means.items())}", flush=True)
    return override(config, {"loss.margin": best})


def _ingested(flags: SiameseTableFlags, name: str, split: "GroupSplit") -> str:
    """The data set of a group, or of a fold, with its splits; one that is there is taken as it is."""
    from pipelines.ingest import IngestFlags, ingest
    from vtr_core.data.manifest import splits
    from vtr_core.data.sources.faces import Faces

    place = f"{flags.out.rstrip('/')}/data/{name}"
    wanted = {"train", "val", *(["test"] if split.test else [])}
    if set(splits(place)) != wanted:
        used = (*split.train, *split.validation, *split.test)
        source = Faces(
            root=flags.faces,
            size=flags.size,
            subjects=used,
            validation=split.validation,
            test=split.test,
            pair_seed=flags.seed,
        )
        ingest(source, IngestFlags(out=place))
    return place


def train_once(config: "TrainConfig", data: str, folder: str, experiment: str) -> str:
    """The run's checkpoint; a run that was interrupted goes on, a finished one is taken as it is."""
    from pipelines.train import TrainFlags, resume, train
    from vtr_core import storage
    from vtr_core.storage import locate

    if storage.exists(locate(folder) / "run.json"):
        return resume(folder).checkpoint
    return train(config, TrainFlags(data=data, out=folder, experiment=experiment)).checkpoint


def _folder(flags: SiameseTableFlags, variant: str, number: int) -> str:
    return f"{flags.out.rstrip('/')}/{variant or 'scn'}/group-{number}"


def _write(flags: SiameseTableFlags, changes: Mapping[str, Any], groups: int) -> str:
    """`table.md` and `table.json` of all finished groups, whoever made them; the page."""
    from vtr_core import storage
    from vtr_core.storage import locate
    from vtr_core.tables.siamese import markdown

    figures: dict[str, list[dict[str, float]]] = {}
    for variant in VARIANTS:
        places = [locate(_folder(flags, variant, number)) / FILE for number in range(groups)]
        figures[variant] = [storage.read_json(place)["figures"] for place in places if storage.exists(place)]
    settings = "".join(f" --{name} {value}" for name, value in changes.items())
    head = (
        f"# Siamese capsule networks: Table 1 on {flags.faces}\n\nVariants of `{flags.preset}`{settings}; {groups} "
        f"disjoint groups of {flags.group_size} test subjects, the next group validates, all others train.\n"
    )
    page = f"{head}\n{markdown(figures, groups)}"
    storage.write_bytes(locate(flags.out) / "table.md", page.encode())
    storage.write_json(locate(flags.out) / "table.json", {"groups": groups, "figures": figures})
    return page
