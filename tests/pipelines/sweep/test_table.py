"""The end of a sweep: ranking, tables, and commands that give back the very configuration."""

import io
import json
import shlex
from random import Random

import pytest
from rich.console import Console

from pipelines.arguments import parse_with_changes
from pipelines.sweep.folder import TrialRow
from pipelines.sweep.outcome import command, ranked, table, to_json, training_flags
from pipelines.train.command import TrainFlags
from tests.builders.sweep_records import sweep_record
from tune_spaces.spaces import build_space, search_spaces
from vtr_core.config.override import override
from vtr_core.config.search_space import extremes
from vtr_core.run.presets import preset
from vtr_core.systems.all import SYSTEMS

OF_DATA = {
    "model.inputs": {"features": {"video": 32}, "num_words": 10, "word_dim": 300, "max_words": 20},
    "model.words.train_vectors": True,
}
RECORD = sweep_record("data/a b")
ROWS = [
    TrialRow(0, {"model.num_capsules": 8}, "stopped", [[1.0, 40.0]], 10, 40.0),
    TrialRow(1, {"model.num_capsules": 16, "loss.temperature": 0.0712345}, "finished", [[10.0, 60.0]], 100, 60.0),
    TrialRow(2, {"model.num_capsules": 4}, "failed", reason="TrainingError: it, too"),
    TrialRow(3, {"model.num_capsules": 32}, "finished", [[10.0, 60.0]], 100, 60.0),
]


@pytest.mark.parametrize("name", search_spaces(SYSTEMS))
def test_a_pasted_command_trains_the_same(name: str) -> None:
    space, random = build_space(name, SYSTEMS), Random(0)
    start = preset(space.preset)
    trained = start.model.system().trained_vectors(start.model)
    of_data = {"model.inputs": OF_DATA["model.inputs"], **({} if trained is None else {trained: True})}
    changed = override(start, {"batch.videos": 64, "training.patience": 3, **of_data})
    for point in [*extremes(space), *(space.sample(random) for _ in range(20))]:
        config = space.applied(changed, point)
        words = shlex.split(command(start, config, RECORD))
        assert words[:3] == ["vtr", "train", space.preset]
        flags, changes = parse_with_changes(TrainFlags, words[3:], "vtr train")
        assert (flags.data, flags.validation) == ("data/a b", "data/val")
        assert override(override(start, changes), of_data) == config


def test_flags_are_few() -> None:
    config = override(preset("capsule-howto-tiny"), {"loss.kind": "info_nce", "loss.temperature": 0.5, **OF_DATA})
    assert training_flags(preset("capsule-howto-tiny"), config) == {"loss.kind": "info_nce", "loss.temperature": 0.5}


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
