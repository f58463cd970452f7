"""What does not go together is said before anything starts, and before a folder is made."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.train.command import TrainFlags, resume, train
from tests.crossing.test_presets import small
from vtr_core.config.override import override
from vtr_core.errors import CheckpointError, ConfigError, DatasetError, SchemaMismatch
from vtr_core.run.presets import preset

pytestmark = pytest.mark.integration

ON_VIDEOS: tuple[tuple[str, dict[str, object], type[Exception], str], ...] = (
    ("caption-msrvtt-tiny", {"loss.kind": "info_nce"}, ConfigError, "'captioner' and 'captioning' go together"),
    ("hybrid-msrvtt-tiny", {"batch.micro_rows": 8}, ConfigError, r"batch\.micro_rows with model\.kind = 'hybrid_enc"),
    ("hybrid-msrvtt-tiny", {"loss.kind": "info_nce"}, ConfigError, "'hybrid_encoder' and 'dual_triplet' go together"),
    ("hybrid-msrvtt-tiny", {"model.num_concepts": 5000}, DatasetError, "fewer than the 5000"),
    (
        *("muse-msrvtt-tiny", {"model.text.kind": "vectors"}, ConfigError),
        r"model\.text\.feature = 'text' must be a feature column of 32 values",
    ),
    ("muse-msrvtt", {"scaling.workers": 1}, ConfigError, "frames of 32 values are no"),
    (
        *("muse-msrvtt-tiny", {"model.learner.kind": "none"}, ConfigError),
        r"nothing reads scales = \(1,\) with temporal_scales = \(2, 4, 8\)",
    ),
    (
        *("muse-msrvtt-tiny", {"loss.kind": "dual_triplet"}, ConfigError),
        "'muse' takes a loss of one joint space, 'masked_margin_softmax' or",
    ),
    ("capsule-howto-tiny", {}, SchemaMismatch, "this model reads clips/1"),
)
ON_FRAMES: tuple[tuple[str, dict[str, object], type[Exception], str], ...] = (
    ("muse-msrvtt-tiny", {}, SchemaMismatch, "this model reads videos/1"),
    (
        *("muse-clip-tiny", {"model.stored_size": 64, "model.backbone.image_size": 64}, ConfigError),
        r"frames of 36 pixels are smaller than backbone\.image_size = 64",
    ),
)


@pytest.mark.parametrize(
    ("world", "name", "changes", "error", "message"),
    [
        *(("videos", *case) for case in ON_VIDEOS),
        *(pytest.param("frames", *case, marks=pytest.mark.long) for case in ON_FRAMES),
    ],
)
def test_a_run_is_refused(
    world: str,
    name: str,
    changes: dict[str, object],
    error: type[Exception],
    message: str,
    worlds: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    with pytest.raises(error, match=message):
        train(override(preset(name), changes), TrainFlags(data=str(worlds(world)), out=str(tmp_path / "x")))
    assert not (tmp_path / "x").exists()


def test_concepts_are_needed_and_those_of_another_table_stop_a_run(
    worlds: Callable[[str], Path], tmp_path: Path
) -> None:
    data, run = worlds("videos"), tmp_path / "run"
    config = override(small("hybrid-msrvtt-tiny", data), {"training.max_steps": 1})
    shutil.copytree(data / "train", tmp_path / "alone")
    with pytest.raises(DatasetError, match="make one with vtr concepts"):
        train(config, TrainFlags(data=str(tmp_path / "alone"), out=str(run)))
    train(config, TrainFlags(data=str(data), out=str(run)))
    values = json.loads((run / "config.json").read_text())
    values["model"]["num_concepts"] = 16
    (run / "config.json").write_text(json.dumps(values))
    with pytest.raises(CheckpointError, match=r"a model of 32 concepts .* labels of 16"):
        resume(str(run))
