"""Prometheus and Grafana: what asks for metrics, what offers them, and a dashboard that shows what a run logs."""

import json
import re

import pytest

from tests.cluster.quoted_commands import ROOT

FOLDER = ROOT / "cluster" / "monitoring"


@pytest.fixture(scope="module")
def expressions() -> list[str]:
    """What the dashboard asks Prometheus for."""
    dashboard = json.loads((FOLDER / "vtr.json").read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


@pytest.mark.parametrize(
    "name",
    [
        "train/loss",
        "train/data_wait",
        "train/samples_per_s",
        "train/row_share_text",
        "train/similarity_deviation_t2v",
        "train/effective_rank_video",
        "train/gradient_norm",
        "train/learning_rate",
        "val/t2v/r10",
        "val/t2v/medr",
        "val/cider",
        "val/auc",
    ],
)
def test_what_is_logged_has_a_panel(expressions: list[str], name: str) -> None:
    """By the patterns of the panels, which must match a name as a whole."""
    assert any(_shows(expression, name) for expression in expressions)
    assert not _shows("ray_vtr_step", name)


def _shows(expression: str, name: str) -> bool:
    wanted = re.search(r'metric=~"([^"]+)"', expression)
    unwanted = re.search(r'metric!~"([^"]+)"', expression)
    return bool(wanted and re.fullmatch(wanted[1], name)) and not (unwanted and re.fullmatch(unwanted[1], name))


def test_it_asks_for_what_runs_export(expressions: list[str]) -> None:
    """The names of `RunGauges` as Ray exports them: with a prefix, and counters with an ending."""
    gauges = (ROOT / "vtr_core" / "train" / "trainer.py").read_text()
    made = re.findall(r'\b(Gauge|Counter)\("(\w+)"', gauges)
    exported = {f"ray_{name}{'_total' if kind == 'Counter' else ''}" for kind, name in made}
    asked = set(re.findall(r"\bray_vtr_\w+", " ".join(expressions)))
    assert asked
    assert asked <= exported
