"""Results of a sweep: the best trials and their commands, figures, and registration of the best model."""

import json
from collections.abc import Mapping, Sequence

from rich.console import Console

from pipelines.sweep.folder import SweepFolder, SweepRecord, TrialRow, TrialTable
from pipelines.sweep.table import best_of, command, ranked, table, to_csv, to_json
from tune_spaces.check import num_weights
from tune_spaces.figures import Scored, importance_bars, parallel_coordinates, pareto
from tune_spaces.importance import importances
from vtr_core import storage
from vtr_core.errors import TrainingError, VtrError
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.run.space import Space
from vtr_core.tracking.models.registry import model_name, register_checkpoint
from vtr_core.tracking.presentation import NOTE, code
from vtr_core.tracking.run import TrackedRun
from vtr_core.tracking.trials import Outcome
from vtr_core.train.checkpoint.files import find_checkpoint

_COMMANDS = 3
"""Number of best trials whose commands are printed."""


def conclude(
    folder: SweepFolder, record: SweepRecord, base: TrainConfig, space: Space, trials: TrialTable, tracking_uri: str
) -> Outcome:
    """Print and write the results, and register the best trial's model; TrainingError where all trials failed."""
    rows = trials.rows
    best = ranked(rows)
    if not best:
        reason = next((row.reason for row in rows if row.reason), "none ended")
        raise TrainingError(f"no trial came to a validation: {reason}; trials.json in {folder.location} has all")
    start = preset(space.preset)
    weights = {row.number: num_weights(space.applied(base, row.point)) for row in best}
    commands = {row.number: command(start, space.applied(base, row.point), record) for row in best}
    files = {
        "trials.csv": to_csv(rows, space, record.metric, weights),
        "best_trials.json": json.dumps(to_json(rows, commands, weights), indent=1) + "\n",
        **_figures(space, best, weights, record.metric),
    }
    for name, text in files.items():
        place = folder.location
        for part in name.split("/"):
            place = place / part
        storage.write_bytes(place, text.encode())
    _print(folder, record, rows, best, commands)
    version = _register(folder, record, best[0], space, tracking_uri)
    figure = {record.metric: best[0].objective or 0.0}
    page = f"{note(folder, record)}\nThe best of {len(rows)} trials:\n\n{best_of(rows, record.metric)}"
    tags = {"best_trial": best[0].name, NOTE: page, **version}
    return Outcome(figure, best[0].step, tags, files)


def note(folder: SweepFolder, record: SweepRecord) -> str:
    """The description of the sweep's MLflow run, in Markdown, before there are results."""
    return (
        f"Sweep over {code(record.space)} on {code(record.data)}, compared by {code(record.metric)} on "
        f"{code(record.validation)}.\n\n- go on: {code(f'vtr sweep --resume {folder.location.uri}')}\n"
    )


def _figures(space: Space, best: Sequence[TrialRow], weights: Mapping[int, int], metric: str) -> dict[str, str]:
    scored = [Scored(row.name, row.point, row.objective or 0.0, weights[row.number]) for row in best]
    figures = {"figures/parallel_coordinates.svg": parallel_coordinates(space, scored, metric)}
    found = importances(space, [row.point for row in best], [row.objective or 0.0 for row in best])
    if found:
        figures["figures/importance.svg"] = importance_bars(found, metric)
    if space.cost is not None:
        figures["figures/pareto.svg"] = pareto(scored, metric)
    return figures


def _print(
    folder: SweepFolder,
    record: SweepRecord,
    rows: Sequence[TrialRow],
    best: Sequence[TrialRow],
    commands: Mapping[int, str],
) -> None:
    print()
    Console().print(table(rows, record.metric))
    if record.scheduler == "pbt":
        print("\nsettings are those at a trial's end; they changed on the way, which these commands do not do again")
    for row in best[:_COMMANDS]:
        print(f"\ntrial {row.name}  {commands[row.number]}")
    failed = [row for row in rows if row.state == "failed"]
    for row in failed:
        print(f"\ntrial {row.name}  failed: {row.reason}")
    print(f"\nsweep       {folder.location}: trials.csv, best_trials.json, figures/")
    print(f"checkpoint  {find_checkpoint(folder.run(best[0]).location)}")


def _register(
    folder: SweepFolder, record: SweepRecord, row: TrialRow, space: Space, tracking_uri: str
) -> dict[str, str]:
    """Register the model; returns the tags of the registration, empty where it fails."""
    run = folder.run(row)
    child, _ = run.read()
    name = model_name(space.preset)
    if child.mlflow_run_id is None:
        print(f"MLflow does not have trial {row.name}, so its checkpoint is not registered as {name}")
        return {}
    tracked = TrackedRun(tracking_uri, record.experiment, child.mlflow_run_id)
    try:
        version = register_checkpoint(tracked, find_checkpoint(run.location).uri, name)
    except VtrError as error:
        print(f"the best checkpoint is not registered: {error}")
        return {}
    print(f"champion    models:/{name}@champion is version {version}, of trial {row.name}")
    return {"model": name, "model.version": version}
