"""The end of a sweep: ranking, tables, and commands that train a trial again."""

import io
import json
import shlex

from rich.console import Console

from pipelines.arguments import parse
from pipelines.sweep.folder import SweepFolder, TrialRow
from pipelines.sweep.outcome import command, ranked, table, to_json
from pipelines.train.command import TrainFlags
from tests.builders.sweep_records import sweep_record
from vtr_core.storage import locate

ROWS = [
    TrialRow(0, {"model.num_capsules": 8}, "stopped", [[1.0, 40.0]], 10, 40.0),
    TrialRow(1, {"model.num_capsules": 16, "loss.temperature": 0.0712345}, "finished", [[10.0, 60.0]], 100, 60.0),
    TrialRow(2, {"model.num_capsules": 4}, "failed", reason="TrainingError: it, too"),
    TrialRow(3, {"model.num_capsules": 32}, "finished", [[10.0, 60.0]], 100, 60.0),
]


def test_a_pasted_command_trains_a_trial_again() -> None:
    words = shlex.split(command(SweepFolder(locate("runs/a sweep")), sweep_record("data/a b"), ROWS[1]))
    flags = parse(TrainFlags, words[4:], "vtr train")
    assert words[:3] == ["vtr", "train", "--config"]
    assert words[3].endswith("runs/a sweep/trials/001/config.json")
    assert (flags.data, flags.validation) == ("data/a b", "data/val")


def test_ranking_leaves_out_what_failed() -> None:
    assert [row.number for row in ranked(ROWS)] == [1, 3, 0]


def test_json_has_all() -> None:
    values = json.loads(json.dumps(to_json(ROWS, {1: "vtr train"})))
    assert [value["number"] for value in values] == [1, 3, 0, 2]
    assert values[0]["command"] == "vtr train"
    assert values[3]["reason"] == "TrainingError: it, too"


def test_the_table_shows_the_best() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(table(ROWS, "val/t2v/sum_r", most=2))
    shown = console.export_text()
    assert "60.000" in shown
    assert "0.0712" in shown
    assert "40.000" not in shown
