"""Prometheus and Grafana: what asks for metrics, what offers them, and a dashboard that shows what a run logs."""

import json
import re
from typing import Any

import pytest
import yaml

from tests.cluster.quoted_commands import ROOT

FOLDER = ROOT / "cluster" / "monitoring"
COMPOSE = ROOT / "cluster" / "compose.yaml"


@pytest.fixture(scope="module")
def expressions() -> list[str]:
    """What the dashboard asks Prometheus for."""
    dashboard = json.loads((FOLDER / "vtr.json").read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def _services() -> dict[str, dict[str, Any]]:
    loaded: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text())["services"]
    return loaded


def test_prometheus_asks_the_port_that_ray_is_told() -> None:
    (job,) = yaml.safe_load((FOLDER / "prometheus.yaml").read_text())["scrape_configs"]
    ((target,),) = (each["targets"] for each in job["static_configs"])
    service, port = target.split(":")
    assert f"--metrics-export-port={port}" in _services()[service]["command"]


def test_grafana_asks_the_prometheus_of_the_stack() -> None:
    (source,) = yaml.safe_load((FOLDER / "sources.yaml").read_text())["datasources"]
    ports = _services()["prometheus"]["ports"]
    assert source["url"] == "http://prometheus:9090"
    assert ports == ["127.0.0.1:9090:9090"]
    dashboard = json.loads((FOLDER / "vtr.json").read_text())
    used = {panel["datasource"]["uid"] for panel in dashboard["panels"]}
    used |= {target["datasource"]["uid"] for panel in dashboard["panels"] for target in panel["targets"]}
    assert used == {source["uid"]}


def test_grafana_finds_the_dashboard_where_it_is_mounted() -> None:
    (provider,) = yaml.safe_load((FOLDER / "dashboards.yaml").read_text())["providers"]
    mounts = [volume.split(":")[1] for volume in _services()["grafana"]["volumes"]]
    assert f"{provider['options']['path']}/vtr.json" in mounts


def test_panels_lie_side_by_side_and_have_their_own_numbers() -> None:
    panels = json.loads((FOLDER / "vtr.json").read_text())["panels"]
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells)), "panels that overlap"
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)


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
