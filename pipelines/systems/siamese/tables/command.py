"""`vtr tables siamese --faces FOLDER` or `--lfw FOLDER`: the paper's table on AT&T or LFW, by unseen subjects."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipelines.arguments import check_counts, parse_with_changes, print_help, wants_help
from pipelines.report.json_result import written_as_json
from pipelines.systems.siamese.tables.finished import FILE, check_settings, finished_figures, finished_rows, group_folder
from pipelines.systems.siamese.tables.flags import PROG, SiameseTableFlags
from pipelines.systems.siamese.tables.page import draw_figures, write
from pipelines.systems.siamese.tables.plan import FacePlan, face_plan, wanted_groups, wanted_rows
from pipelines.systems.siamese.tables.row_config import row_config
from vtr_core.uris import below

if TYPE_CHECKING:
    from vtr_core.data.plan.subject_groups import GroupSplit
    from vtr_core.run.config import TrainConfig
    from pipelines.systems.siamese.tables.face_runs import FaceRuns
    from pipelines.systems.siamese.tables.margin_choice import MarginChoice
    from pipelines.systems.siamese.tables.paper import PaperRow


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
    from pipelines.report.links import print_link
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
    from pipelines.systems.siamese.tables.face_runs import FaceRuns

    flags = plan.flags
    runs = FaceRuns(plan.faces, flags.size, flags.seed, flags.out, flags.experiment)
    if flags.max_concurrent == 1:
        return runs
    from pipelines.systems.siamese.tables.together import trained_together

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
    from vtr_core.data.plan.subject_groups import folds
    from pipelines.systems.siamese.tables.margin_choice import choose_margin

    parts = folds(split.train, flags.folds, flags.seed)
    return choose_margin(runs, config, flags.margins, parts, f"group-{number}", folder)


def _figures(flags: SiameseTableFlags, checkpoint: str, data: str, threshold: float | None) -> dict[str, Any]:
    """Metrics on training and test subjects, in percent, and the settings that they depend on."""
    from pipelines.systems.siamese.commands.command import VerificationFlags
    from pipelines.systems.siamese.commands.evaluate import evaluate

    uris = (below(data, "train"), below(data, "test"))
    train, test = evaluate(VerificationFlags(checkpoint, uris, threshold, experiment=flags.experiment))
    figures = {**train.metric_values("train"), **test.metric_values("test")}
    return {"figures": figures, "margin": test.at_margin.threshold, "threshold": test.metrics.threshold}
