"""`vtr tables siamese --faces FOLDER` or `--lfw FOLDER`: Table 1 on AT&T or LFW, by unseen subjects."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipelines.arguments import check_counts, parse_with_changes, print_help, wants_help, written_as_json
from pipelines.systems.siamese.siamese_plan import (
    FILE,
    PROG,
    FacePlan,
    SiameseTableFlags,
    check_settings,
    face_plan,
    finished_figures,
    finished_rows,
    group_folder,
    row_config,
    wanted_groups,
    wanted_rows,
)
from vtr_core.storage.location import below

if TYPE_CHECKING:
    from pipelines.systems.siamese.face_runs import FaceRuns, MarginChoice
    from pipelines.systems.siamese.siamese_paper import PaperRow
    from vtr_core.data.splits import GroupSplit
    from vtr_core.run.config import TrainConfig


def write(plan: FacePlan) -> str:
    """Writes `table.md` and `table.json` of all finished groups and returns the page."""
    from pipelines.systems.siamese.siamese_paper import markdown
    from vtr_core import storage
    from vtr_core.storage import locate

    figures, groups = finished_rows(plan), len(plan.splits)
    page = f"{_head(plan)}\n{markdown(plan.table, figures, groups, plan.size)}"
    storage.write_bytes(locate(plan.flags.out) / "table.md", page.encode())
    storage.write_json(locate(plan.flags.out) / "table.json", {"groups": groups, "figures": figures})
    return page


def draw_figures(plan: FacePlan) -> None:
    """Writes `figures.svg`, the paper's Figures 1 and 2, of all rows that have finished the first group of any."""
    from pipelines.report.printed_page import print_link
    from pipelines.systems.siamese.siamese_figures import draw, drawn_model
    from vtr_core import storage
    from vtr_core.storage import locate

    for number in range(len(plan.splits)):
        done = [row for row in plan.table.rows if finished_figures(plan, row, number) is not None]
        if done:
            break
    else:
        return
    part, run = (f"group-{number}-refit", "refit") if plan.flags.margins else (f"group-{number}", "run")
    data = below(plan.flags.out, f"data/{part}/test")
    models = [drawn_model(row.title, below(group_folder(plan, row, number), run), data) for row in done]
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


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help(PROG, SiameseTableFlags)
        return
    flags, changes = parse_with_changes(SiameseTableFlags, argv, PROG)
    with written_as_json(flags.json, flags.out, "table.md", "table.json"):
        print(tables(flags, changes))


def tables(flags: SiameseTableFlags, changes: Mapping[str, Any]) -> str:
    """Trains and evaluates missing rows, group by group, writes `table.md` after each run, and returns the page.

    At the end `figures.svg` shows the finished models of one group side by side.
    """
    from pipelines.report.printed_page import print_link
    from vtr_core.run.presets import preset
    from vtr_core.storage import locate

    check_counts(PROG, max_concurrent=flags.max_concurrent)
    plan = face_plan(flags, changes)
    wanted = wanted_rows(flags, plan.table)
    numbers = wanted_groups(flags, len(plan.splits))
    preset(plan.preset)
    finished_rows(plan)  # refuses a folder of other splits before any training
    for row in plan.table.rows:
        check_settings(plan, row)
    runs = _runs(plan, wanted, numbers)
    for number in numbers:
        for row in wanted:
            _run(plan, runs, number, row)
            write(plan)
    page = write(plan)
    print_link(locate(flags.out) / "table.md")
    draw_figures(plan)
    return page


def _runs(plan: FacePlan, rows: "Sequence[PaperRow]", numbers: Sequence[int]) -> "FaceRuns":
    """What trains the rows; with --max-concurrent all trainings that validate are done here, several at a time."""
    from pipelines.systems.siamese.face_runs import FaceRuns

    flags = plan.flags
    runs = FaceRuns(plan.faces, flags.size, flags.seed, flags.out, flags.experiment)
    if flags.max_concurrent == 1:
        return runs
    from pipelines.systems.siamese.face_runs import trained_together

    return trained_together(plan, runs, rows, numbers)


def _run(plan: FacePlan, runs: "FaceRuns", number: int, row: "PaperRow") -> None:
    """Metrics of one row on one group, computed if missing."""
    from pipelines.tables.runs import settings_of
    from vtr_core import storage
    from vtr_core.config.override import override
    from vtr_core.storage import locate

    if finished_figures(plan, row, number) is not None:
        return
    flags, split, folder = plan.flags, plan.splits[number], group_folder(plan, row, number)
    config = settings = row_config(plan, row)
    print(f"\n=== {config.preset}, group {number}: {', '.join(split.test)}", flush=True)
    if flags.margins:
        choice = _choice(flags, runs, config, number, split, folder)
        config, threshold = override(config, {"loss.margin": choice.margin}), choice.threshold
        data, run = runs.data(f"group-{number}-refit", split), below(folder, "refit")
    else:
        data, run, threshold = runs.data(f"group-{number}", split), below(folder, "run"), None
    checkpoint = runs.checkpoint(config, data, run)
    figures = _figures(flags, checkpoint, data, threshold)
    storage.write_json(locate(folder) / FILE, {"split": vars(split), "settings": settings_of(settings), **figures})


def _choice(
    flags: SiameseTableFlags, runs: "FaceRuns", config: "TrainConfig", number: int, split: "GroupSplit", folder: str
) -> "MarginChoice":
    from pipelines.systems.siamese.face_runs import choose_margin
    from vtr_core.data.splits import folds

    parts = folds(split.train, flags.folds, flags.seed)
    return choose_margin(runs, config, flags.margins, parts, f"group-{number}", folder)


def _figures(flags: SiameseTableFlags, checkpoint: str, data: str, threshold: float | None) -> dict[str, Any]:
    """Metrics on training and test subjects, in percent, and the settings that they depend on."""
    from pipelines.systems.siamese.face_verification import evaluate
    from pipelines.systems.siamese.verify_faces import VerificationFlags

    uris = (below(data, "train"), below(data, "test"))
    train, test = evaluate(VerificationFlags(checkpoint, uris, threshold, experiment=flags.experiment))
    figures = {**train.metric_values("train"), **test.metric_values("test")}
    return {"figures": figures, "margin": test.at_margin.threshold, "threshold": test.metrics.threshold}
