"""Dotted changes are validated as a whole, and faults are named as a user would type them."""

import subprocess
import sys

import pytest

from vtr_core.config.losses import GeometricMargin
from vtr_core.config.override import override
from vtr_core.config.towers import NoRouting
from vtr_core.errors import ConfigError
from vtr_core.run.presets import PRESETS, preset
from vtr_core.systems.all import SYSTEMS


def test_a_kind_brings_its_defaults_and_takes_its_own_settings() -> None:
    changed = override(
        preset("capsule-howto"),
        {"loss.margin.factor": 2.0, "loss.margin.kind": "geometric", "model.routing.kind": "none"},
    )
    assert changed.loss.margin == GeometricMargin(factor=2.0)  # type: ignore[union-attr]
    assert changed.model.routing == NoRouting()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss.margn.value": 1}, "no setting loss.margn.value; did you mean loss.margin.value?"),
        ({"loss.margn": 1}, "no setting loss.margn; known there: loss.margin.kind, loss.margin.value"),
        ({"optimzer.learning_rat": 1}, "did you mean optimizer.learning_rate?"),
        ({"optimzer.kind": "adam"}, "no setting optimzer.kind; known there: optimizer.algorithm, "),
        ({"nothing.at.all": 1}, "no setting nothing.at.all"),
        ({"batch.videos": -1}, r"batch.videos: .*greater than 0 \(given: -1\)"),
        ({"loss.margin.value": -1}, "loss.margin.value: "),
        ({"loss.margin.kind": "none"}, "loss.margin: .*'constant'"),
        ({"model.routing.num_heads": "many"}, "model.routing.num_heads: .*integer"),
        ({"scaling.workers": 3}, "cannot be divided by scaling.workers = 3"),
    ],
)
def test_faults_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        override(preset("capsule-howto-tiny"), change)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_survives_json(name: str) -> None:
    config = preset(name)
    assert config.preset == name
    assert SYSTEMS.config(config.model_dump(mode="json")) == config


def test_the_papers_settings() -> None:
    """Section 4.1: C = 128, d1 = 32, d2 = 256, batch 4096, margin .001, Adam 1e-3, cosine, 20 epochs."""
    config = preset("capsule-howto-published")
    assert (config.model.num_capsules, config.model.primary_dim, config.model.routing.pose_dim) == (128, 32, 256)
    assert (config.batch.rows, config.batch.videos, config.training.epochs) == (4096, 128, 20)
    assert config.loss.margin.value == 0.001  # type: ignore[union-attr]
    assert (config.optimizer.learning_rate, config.optimizer.schedule) == (1e-3, "cosine")


def test_an_unknown_preset_lists_the_known() -> None:
    with pytest.raises(ConfigError, match="capsule-howto"):
        preset("capsule-hwoto")


def test_configurations_load_without_torch_or_ray() -> None:
    code = "import sys, vtr_core.run.presets; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "ray", "mlflow", "numpy"} & set(done.stdout.split())
