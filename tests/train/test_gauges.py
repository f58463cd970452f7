"""RunGauges: which values, under which names and labels, Ray is given."""

from typing import Any

import pytest

from vtr_core.train import trainer
from vtr_core.train.trainer import RunGauges

LABELS = ("/runs/a", "capsule-howto-tiny")


class _Recorded:
    """A metric that keeps its newest value by labels, and the sum of what it was increased by."""

    made: "dict[str, _Recorded]"

    def __init__(self, name: str, description: str, tag_keys: tuple[str, ...]) -> None:
        assert description
        self._keys, self.values = tag_keys, dict[tuple[str, ...], float]()
        self.made[name] = self

    def set(self, value: float, tags: dict[str, str]) -> None:
        self.values[self._key(tags)] = value

    def inc(self, value: float, tags: dict[str, str]) -> None:
        self.values[self._key(tags)] = self.values.get(self._key(tags), 0.0) + value

    def _key(self, tags: dict[str, str]) -> tuple[str, ...]:
        assert tags.keys() == set(self._keys), "Ray refuses other labels"
        return tuple(tags[key] for key in self._keys)


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(_Recorded, "made", {}, raising=False)
    monkeypatch.setattr(trainer, "Gauge", _Recorded)
    monkeypatch.setattr(trainer, "Counter", _Recorded)
    return _Recorded.made


def test_the_newest_point_stays(metrics: dict[str, Any]) -> None:
    gauges = RunGauges(*LABELS)
    gauges.add({"train/loss": 2.0, "train/epoch": 0, "step": 10, "total_steps": 40})
    gauges.add({"train/loss": 1.5, "val/t2v/r1": 0.25, "step": 20, "total_steps": 40})
    assert metrics["vtr_metric"].values == {
        (*LABELS, "train/loss"): 1.5,
        (*LABELS, "train/epoch"): 0.0,
        (*LABELS, "val/t2v/r1"): 0.25,
    }
    assert metrics["vtr_step"].values == {LABELS: 20.0}
    assert metrics["vtr_total_steps"].values == {LABELS: 40.0}
    assert metrics["vtr_events"].values == {}


def test_labels_are_printable_ascii(metrics: dict[str, Any]) -> None:
    """Ray takes no others: a folder's name may have any characters, and bytes that are no UTF-8."""
    gauges = RunGauges("/home/josé/a b\n#1/\udce9", "mine-é")
    gauges.add({"val/é": 0.25, "step": 20, "total_steps": 40})
    gauges.add({"event": "größer"})
    labels = "/home/jos%C3%A9/a b%0A#1/%E9", "mine-%C3%A9"
    assert metrics["vtr_metric"].values == {(*labels, "val/%C3%A9"): 0.25}
    assert metrics["vtr_step"].values == {labels: 20.0}
    assert metrics["vtr_events"].values == {(*labels, "gr%C3%B6%C3%9Fer"): 1.0}
