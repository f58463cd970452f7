"""A run of Weights & Biases without a network: what its folder holds."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tracking.also.pages import lines, page
from tests.tracking.also.wandb_files import history, records
from vtr_core.tracking.other_trackers import open_tracker


@pytest.mark.long
def test_the_offline_folder_holds_the_run(offline: Any, tmp_path: Path) -> None:
    run = open_tracker("wandb", page(tmp_path / "run", group="sweep-1"))
    for line in lines(1, 2, 5):
        run.log(line)
    run.finish("FAILED")
    (file,) = (tmp_path / "run" / "wandb").glob("offline-run-*/run-0123456789abcdef.wandb")
    kept = list(records(file))
    (about,) = (record.run for record in kept if record.WhichOneof("record_type") == "run")
    assert (about.run_id, about.project, about.display_name, about.run_group) == (
        "0123456789abcdef",
        "vtr",
        "abcdefg-tiny",
        "sweep-1",
    )
    config = {item.key: json.loads(item.value_json) for item in about.config.update}
    assert (config["batch.videos"], config["data"]) == (8, "s3://key:***@host/data")
    rows = history(file)
    assert [(row["_step"], row["train/loss"], row["train/data_wait"], row["_timestamp"]) for row in rows] == [
        (1, 1.0, 0.5, 1001.0),
        (2, 0.5, 1 / 3, 1002.0),
        (5, 0.2, 1 / 6, 1005.0),
    ]
    (end,) = (record.exit for record in kept if record.WhichOneof("record_type") == "exit")
    assert end.exit_code == 1
