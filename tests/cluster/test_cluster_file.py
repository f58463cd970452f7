"""ray-cluster.yaml: Ray's own schema and checks, enough nodes for the largest profile, nothing secret."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import ray.autoscaler
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config

from cluster.profiles import profile
from tests.cluster import quoted_commands
from vtr_core.config.override import override
from vtr_core.run.presets import preset
from vtr_core.train.fleet.placement import Placement

FILE = quoted_commands.ROOT / "cluster" / "ray-cluster.yaml"


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return loaded


def test_ray_accepts_it(config: dict[str, Any]) -> None:
    schema = json.loads((Path(ray.autoscaler.__file__).parent / "ray-schema.json").read_text())
    jsonschema.validate(config, schema)
    complete = prepare_config(config)
    validate_config(complete)
    assert {name: kind["max_workers"] for name, kind in complete["available_node_types"].items()} == {
        "head": 0,
        "cpu": 4,
        "gpu": 8,
    }


def test_reading_and_training_go_to_different_nodes(config: dict[str, Any]) -> None:
    kinds, apart = config["available_node_types"], Placement(is_apart=True)
    assert kinds["cpu"]["labels"] == apart.reading
    assert kinds["gpu"]["labels"] != apart.reading
    assert "GPU" not in kinds["cpu"]["resources"]
    assert kinds["cpu"]["min_workers"] >= 1, "reading_nodes=auto looks for one when a run begins"
    assert kinds["head"]["resources"] == {"CPU": 0, "GPU": 0}


def test_the_largest_profile_fits(config: dict[str, Any]) -> None:
    large = profile("8x8xh100")
    scaling = override(preset("capsule-howto"), large.changes).scaling
    kinds = config["available_node_types"]
    assert {name: kinds[name]["max_workers"] for name in large.nodes} == large.nodes
    assert sum(large.nodes.values()) <= config["max_workers"]
    gpu, cpu = (
        {key: amount * large.nodes[name] for key, amount in kinds[name]["resources"].items()} for name in ("gpu", "cpu")
    )
    assert scaling.workers <= gpu["GPU"]
    assert scaling.workers * scaling.cpus_per_worker <= gpu["CPU"]
    assert scaling.reading_cpus <= cpu["CPU"]
    assert scaling.workers % kinds["gpu"]["resources"]["GPU"] == 0


def test_nothing_listens_without_the_token(config: dict[str, Any]) -> None:
    starts = [*config["head_start_ray_commands"], *config["worker_start_ray_commands"]]
    assert all("RAY_AUTH_MODE=token" in command for command in starts if "ray start" in command)
    assert config["file_mounts"] == {"~/.ray/auth_token": "~/.ray/auth_token"}
    assert not [command for command in starts if "RAY_AUTH_TOKEN" in command]


@pytest.mark.parametrize("name", ["ray-cluster.yaml", "kuberay/kustomization.yaml", "compose.yaml", "../Dockerfile"])
def test_the_commands_that_it_quotes_are_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = quoted_commands.commands((quoted_commands.ROOT / "cluster" / name).read_text())
    assert found
    for words in found:
        quoted_commands.check(words, monkeypatch)
