"""Settings, and records from JSON, are validated as a whole, and faults are named as a user would type them."""

import subprocess
import sys
from dataclasses import dataclass

import pytest

from vtr_core.config.losses import GeometricMargin
from vtr_core.config.override import override, record
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


@dataclass(frozen=True)
class Point:
    name: str
    count: int
    value: float | None = None
    parts: tuple[int, ...] = ()


def test_a_record_is_what_its_json_says() -> None:
    assert record(Point, {"name": "a", "count": 3, "value": 2, "unknown": 1}) == Point("a", 3, 2.0)
    assert record(Point, {"name": "a", "count": 3, "value": None, "parts": (1, 2)}) == Point("a", 3, None, (1, 2))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "it is NoneType, not an object of name, count, value, parts"),
        ([], "it is list"),
        ({"name": "a"}, "lacks members.*count"),
        ({"name": "a", "count": 3.0}, "count: .*integer"),
        ({"name": "a", "count": True}, "count: .*integer"),
        ({"name": "a", "count": "3"}, "count: .*integer"),
        ({"name": 1, "count": 3}, "name: .*string"),
        ({"name": "a", "count": 3, "parts": (1, "x")}, "parts: .*integer"),
    ],
)
def test_what_does_not_suit_is_named(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        record(Point, value)
    assert "\n" not in str(caught.value)


TINY = preset("capsule-howto-tiny")


def test_a_fixed_number() -> None:
    config = override(TINY, {"batch.videos": 4, "batch.clips_per_video": 3, "scaling.workers": 2})
    assert config.worker_counts == (2,)
    assert config.scaling.fewest == 2
    assert config.scaling.span == "2"


def test_a_span_uses_what_divides_the_rows() -> None:
    changes = {"batch.videos": 4, "batch.clips_per_video": 3, "scaling.workers": 6, "scaling.min_workers": 1}
    config = override(TINY, changes)
    assert config.worker_counts == (1, 2, 3, 4, 6)
    assert config.scaling.span == "1-6"


@pytest.mark.parametrize(
    ("workers", "fewest", "message"),
    [
        (5, None, r"12 rows cannot be divided by scaling.workers = 5; .* or 3, 4, 6 workers"),
        (6, 5, r"12 rows cannot be divided by scaling.min_workers = 5"),
        (2, 3, r"scaling.min_workers = 3 is more than scaling.workers = 2"),
    ],
)
def test_what_does_not_fit_is_refused(workers: int, fewest: int | None, message: str) -> None:
    batch = {"batch.videos": 4, "batch.clips_per_video": 3}
    with pytest.raises(ConfigError, match=message):
        override(TINY, {**batch, "scaling.workers": workers, "scaling.min_workers": fewest})
