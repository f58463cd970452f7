"""compose.yaml: the Compose specification's schema, every variable in the sample, nothing open to the network."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.quoted_commands import ROOT

FILE, SAMPLE = ROOT / "cluster" / "compose.yaml", ROOT / "cluster" / "compose.env.sample"
SECRETS = {"POSTGRES_PASSWORD", "S3_ACCESS_KEY", "S3_SECRET_KEY", "RAY_AUTH_TOKEN"}


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    loaded: dict[str, dict[str, Any]] = yaml.safe_load(FILE.read_text())["services"]
    return loaded


def _validate(file: Path) -> "subprocess.CompletedProcess[str]":
    """The schema of the Compose specification that comes with the package check-jsonschema."""
    validator = Path(sys.executable).parent / "check-jsonschema"
    command = [validator, "--builtin-schema", "vendor.compose-spec", file]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_specification_accepts_it(tmp_path: Path) -> None:
    done = _validate(FILE)
    assert done.returncode == 0, done.stdout
    slip = tmp_path / "compose.yaml"
    slip.write_text(FILE.read_text().replace("depends_on:", "depend_on:", 1))
    assert "depend_on" in _validate(slip).stdout


def test_every_variable_is_in_the_sample_and_required() -> None:
    used = re.findall(r"\$\{(\w+)(:\?[^}]*)?\}", FILE.read_text())
    sample = dict(line.split("=", 1) for line in SAMPLE.read_text().splitlines() if line and not line.startswith("#"))
    assert {name for name, _ in used} == sample.keys() == SECRETS | {"S3_BUCKET"}
    assert {name for name, required in used if required} == sample.keys(), "an empty secret stops the stack"
    assert {name for name, value in sample.items() if not value} == SECRETS, "no secret is known to everyone"
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert "/cluster/.env" in ignored


def test_only_this_machine_reaches_it(services: dict[str, dict[str, Any]]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {
        "s3": ["127.0.0.1:8333:8333"],
        "mlflow": ["127.0.0.1:5000:5000"],
        "ray": ["127.0.0.1:8265:8265"],
        "prometheus": ["127.0.0.1:9090:9090"],
        "grafana": ["127.0.0.1:3000:3000"],
    }
    assert services["ray"]["environment"]["RAY_AUTH_MODE"] == "token"


def test_services_begin_when_what_they_need_answers(services: dict[str, dict[str, Any]]) -> None:
    assert all("healthcheck" in service for service in services.values())
    needs = {name: set(service.get("depends_on", {})) for name, service in services.items()}
    assert needs == {
        "postgres": set(),
        "s3": set(),
        "mlflow": {"postgres", "s3"},
        "ray": {"mlflow", "s3"},
        "prometheus": {"ray"},
        "grafana": {"prometheus"},
    }
    conditions = {each["condition"] for service in services.values() for each in service.get("depends_on", {}).values()}
    assert conditions == {"service_healthy"}


def test_the_database_is_asked_by_its_port(services: dict[str, dict[str, Any]]) -> None:
    """The server that only makes the database has none."""
    assert "--host=127.0.0.1" in services["postgres"]["healthcheck"]["test"]


def test_ray_keeps_its_objects_in_shared_memory(services: dict[str, dict[str, Any]]) -> None:
    (taken,) = (word for word in services["ray"]["command"] if word.startswith("--object-store-memory="))
    assert int(taken.partition("=")[2]) < int(services["ray"]["shm_size"].removesuffix("gb")) << 30


def test_what_is_to_last_lies_in_volumes(services: dict[str, dict[str, Any]]) -> None:
    named = yaml.safe_load(FILE.read_text())["volumes"].keys()
    mounted = {volume.partition(":")[0] for service in services.values() for volume in service.get("volumes", [])}
    files = {each for each in mounted if each.startswith("./")}
    assert mounted - files == named == {"postgres", "s3", "work", "prometheus"}
    assert all((FILE.parent / file).is_file() for file in files)


def test_images_of_others_are_pinned_and_ours_are_the_dockerfiles(services: dict[str, dict[str, Any]]) -> None:
    for name in ("postgres", "s3", "prometheus", "grafana"):
        assert re.fullmatch(r"[\w/]+:v?[\d.]+@sha256:[0-9a-f]{64}", services[name]["image"]), name
    for name in ("mlflow", "ray"):
        assert services[name]["image"] == "vtr:cpu"
        assert services[name]["build"] == {"context": "..", "target": "cpu"}
    assert re.search(r"(?m)^FROM \S+ AS cpu$", (ROOT / "Dockerfile").read_text())


def test_names_and_ports_fit_together(services: dict[str, dict[str, Any]]) -> None:
    ray, mlflow = services["ray"]["environment"], services["mlflow"]["environment"]
    assert ray["MLFLOW_TRACKING_URI"] == "http://mlflow:5000"
    assert "--allowed-hosts=mlflow:5000,127.0.0.1:5000,localhost:5000" in services["mlflow"]["command"]
    assert "@postgres:5432/mlflow" in mlflow["MLFLOW_BACKEND_STORE_URI"]
    assert {ray["AWS_ENDPOINT_URL"], mlflow["AWS_ENDPOINT_URL"]} == {"http://s3:8333"}
    assert ray["AWS_ACCESS_KEY_ID"] == services["s3"]["environment"]["AWS_ACCESS_KEY_ID"]
    assert services["postgres"]["environment"]["POSTGRES_USER"] == "mlflow"


@pytest.mark.long
@pytest.mark.parametrize(("service", "program"), [("mlflow", "mlflow"), ("ray", "ray.scripts.scripts")])
def test_the_servers_know_their_flags(services: dict[str, dict[str, Any]], service: str, program: str) -> None:
    """As their own help lists them."""
    command = services[service]["command"]
    words = [word for word in command[1:] if not word.startswith("-")]
    done = subprocess.run([sys.executable, "-m", program, *words, "--help"], capture_output=True, text=True, check=True)
    for flag in (word.partition("=")[0] for word in command if word.startswith("--")):
        assert re.search(rf"{flag}\b", done.stdout), flag
