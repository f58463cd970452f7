"""A training with both trackers beside MLflow: each has the points of metrics.jsonl, and no other."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipelines.train.command import TrainFlags, train
from tests.builders.toy import toy_dataset
from tests.tracking.also.wandb_files import history
from vtr_core.config.override import override
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.tracking.run_log import read_lines

Points = Mapping[str, Mapping[int, float]]
"""{name: {step: value}}."""
CONFIG = override(
    preset("capsule-howto-tiny"),
    {"scaling.workers": 0, "batch.videos": 2, "batch.clips_per_video": 1, "training.epochs": 3},
)


def _points(rows: list[dict[str, Any]], step: str) -> Points:
    """The values of rows, which have their step beside them; names that begin with _ are the tracker's own."""
    found: dict[str, dict[int, float]] = {}
    for row in rows:
        for name, value in row.items():
            if name not in (step, "time") and not name.startswith("_"):
                assert row[step] not in found.setdefault(name, {}), f"{name} comes twice at step {row[step]}"
                found[name][row[step]] = value
    return found


@pytest.mark.integration
@pytest.mark.long
def test_both_have_the_points_of_the_run(tmp_path: Path, offline: Any, event_files: Callable[[Path], Any]) -> None:
    data, run = toy_dataset(tmp_path / "data")[0], tmp_path / "run"
    flags = TrainFlags(data.uri, validation=data.uri, out=str(run), also=("tensorboard", "wandb"))
    train(CONFIG, flags)
    written = _points(read_lines(locate(run / "metrics.jsonl")), "step")
    assert {"train/loss", "val/t2v/r1"} <= written.keys()
    (file,) = (run / "wandb").glob("offline-run-*/run-*.wandb")
    assert _points(history(file), "_step") == written
    events = event_files(run / "tensorboard")
    assert {name: [one.step for one in events.Scalars(name)] for name in events.Tags()["scalars"]} == {
        name: sorted(values) for name, values in written.items()
    }
    for name, values in written.items():
        rounded = {step: float(np.float32(value)) for step, value in values.items()}
        assert {one.step: one.value for one in events.Scalars(name)} == rounded
