"""The trainings of a table of faces side by side under Ray Tune, before its rows are judged one after another."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pipelines.tables.side_by_side import RowRun, train_side_by_side
from vtr_core.data.plan.subject_groups import folds
from vtr_core.storage import locate
from pipelines.systems.siamese.tables.face_runs import FaceRuns
from pipelines.systems.siamese.tables.finished import finished_figures, group_folder
from pipelines.systems.siamese.tables.margin_choice import fold_runs
from pipelines.systems.siamese.tables.paper import PaperRow
from pipelines.systems.siamese.tables.plan import FacePlan
from pipelines.systems.siamese.tables.row_config import row_config
from vtr_core.uris import below


def trained_together(plan: FacePlan, runs: FaceRuns, rows: Sequence[PaperRow], numbers: Sequence[int]) -> FaceRuns:
    """The runs with the checkpoints of all trainings whose figures are missing, `max_concurrent` of them at a time.

    All data sets are made first. TrainingError where trainings failed, once the others have ended.
    """
    wanted = [
        one
        for number in numbers
        for row in rows
        if finished_figures(plan, row, number) is None
        for one in _trainings(plan, runs, row, number)
    ]
    if not wanted:
        return runs
    trained = train_side_by_side(wanted, plan.flags.max_concurrent, locate(plan.flags.out) / "tune")
    return replace(runs, trained=trained)


def _trainings(plan: FacePlan, runs: FaceRuns, row: PaperRow, number: int) -> Iterator[RowRun]:
    """The trainings of a row and group that are validated: the one of the table, or with margins those of the folds."""
    flags, split, folder = plan.flags, plan.splits[number], group_folder(plan, row, number)
    config, name = row_config(plan, row), f"{row.name}-group-{number}"
    if not flags.margins:
        yield RowRun(name, config, runs.flags(runs.data(f"group-{number}", split), below(folder, "run")))
        return
    parts = folds(split.train, flags.folds, flags.seed)
    for one in fold_runs(runs, config, flags.margins, parts, f"group-{number}", folder):
        yield RowRun(f"{name}-{locate(one.folder).name}", one.config, runs.flags(one.data, one.folder))
