"""cluster/kuberay: Kubernetes' schemas for its own, and Ray's own reading of the groups."""

import copy
import re
import shlex
from itertools import pairwise
from typing import Any

import kubernetes_validate
import pytest
import yaml
from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr

from cluster.job_variables import STOP_WAIT_S
from cluster.profiles import profile
from tests.cluster import quoted_commands
from vtr_core.config.override import override
from vtr_core.ray_private import STOP_WAIT, object_store_bytes
from vtr_core.run.presets import preset
from vtr_core.train.fleet.placement import Placement

Object = dict[str, Any]
KUBERNETES = "1.34"
LARGE = profile("8x8xh100")


FOLDER = quoted_commands.ROOT / "cluster" / "kuberay"


def _read(name: str) -> list[Object]:
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


@pytest.fixture(scope="module")
def objects() -> dict[str, Object]:
    """The cluster's objects and the job, by their kind."""
    return {each["kind"]: each for each in [*_read("cluster.yaml"), *_read("job.yaml")]}


def _groups(objects: dict[str, Object]) -> list[Object]:
    spec = objects["RayCluster"]["spec"]
    return [spec["headGroupSpec"], *spec["workerGroupSpecs"]]


def _container(group: Object) -> Object:
    (container,) = group["template"]["spec"]["containers"]
    return dict(container)


def test_kubernetes_knows_its_own_objects(objects: dict[str, Object]) -> None:
    assert list(objects) == ["ServiceAccount", "ConfigMap", "RayCluster", "RayJob"]
    for kind in ("ServiceAccount", "ConfigMap"):
        kubernetes_validate.validate(objects[kind], KUBERNETES, strict=True)


def test_kubernetes_knows_the_pods(objects: dict[str, Object]) -> None:
    for group in _groups(objects):
        pod = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": group["template"]}
        kubernetes_validate.validate(pod, KUBERNETES, strict=True)
        slip = copy.deepcopy(pod)
        slip["template"]["spec"]["containers"][0]["volumeMount"] = []
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(slip, KUBERNETES, strict=True)


def test_ray_reads_the_groups_as_they_are_meant(objects: dict[str, Object]) -> None:
    """The autoscaler's own function, which ends in the same check as for ray-cluster.yaml."""
    cluster = copy.deepcopy(objects["RayCluster"])
    cluster["metadata"]["namespace"] = "default"
    config = _derive_autoscaling_config_from_ray_cr(cluster)
    kinds, apart = config["available_node_types"], Placement(is_apart=True)
    assert {name: (kind["min_workers"], kind["max_workers"]) for name, kind in kinds.items()} == {
        "headgroup": (0, 0),
        "cpu": (1, 4),
        "gpu": (0, 8),
    }
    assert kinds["headgroup"]["resources"]["CPU"] == 0
    assert kinds["cpu"]["labels"] == apart.reading
    assert kinds["gpu"]["labels"] != apart.reading
    assert "GPU" not in kinds["cpu"]["resources"]
    assert config["idle_timeout_minutes"] == 15
    scaling = override(preset("capsule-howto"), LARGE.changes).scaling
    most = {name: kinds[name]["max_workers"] for name in LARGE.nodes}
    assert most == LARGE.nodes
    assert scaling.workers <= most["gpu"] * kinds["gpu"]["resources"]["GPU"]
    assert scaling.workers * scaling.cpus_per_worker <= most["gpu"] * kinds["gpu"]["resources"]["CPU"]
    assert scaling.reading_cpus <= most["cpu"] * kinds["cpu"]["resources"]["CPU"]


def test_the_version_is_the_pinned_one(objects: dict[str, Object]) -> None:
    pinned = (quoted_commands.ROOT / "constraints.txt").read_text().splitlines()
    assert f"ray=={objects['RayCluster']['spec']['rayVersion']}" in pinned


def test_a_token_is_asked_for_and_nothing_has_more_rights_than_it_needs(objects: dict[str, Object]) -> None:
    assert objects["RayCluster"]["spec"]["authOptions"] == {"mode": "token"}
    assert "Secret" not in objects, "KubeRay makes the token"
    for group in _groups(objects):
        assert group["template"]["spec"]["securityContext"]["runAsNonRoot"] is True
        assert _container(group)["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_pods_have_the_shared_memory_that_ray_needs(
    objects: dict[str, Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds what Ray takes for objects of a pod's memory, of which it is a part."""
    for group in _groups(objects):
        volumes = {volume["name"]: volume for volume in group["template"]["spec"]["volumes"]}
        mounts = {mount["mountPath"]: mount["name"] for mount in _container(group)["volumeMounts"]}
        folder = volumes[mounts["/dev/shm"]]["emptyDir"]
        assert folder["medium"] == "Memory"
        shared, memory = (
            int(text.removesuffix("Gi")) << 30
            for text in (folder["sizeLimit"], _container(group)["resources"]["limits"]["memory"])
        )
        monkeypatch.setattr("ray._private.utils.get_shared_memory_bytes", lambda shared=shared: shared)
        assert object_store_bytes(memory) <= shared < memory


def test_a_pod_that_is_taken_away_has_time_for_a_checkpoint(objects: dict[str, Object]) -> None:
    head, *_, gpu = _groups(objects)
    assert gpu["groupName"] == "gpu"
    assert all(group["template"]["spec"]["terminationGracePeriodSeconds"] >= STOP_WAIT_S for group in (head, gpu))
    environment = yaml.safe_load(objects["RayJob"]["spec"]["runtimeEnvYAML"])
    assert environment == {"env_vars": {STOP_WAIT: str(STOP_WAIT_S)}}


def test_the_job_runs_on_this_cluster_with_the_profile(
    objects: dict[str, Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    job, cluster = objects["RayJob"], objects["RayCluster"]
    assert job["spec"]["clusterSelector"] == {"ray.io/cluster": cluster["metadata"]["name"]}
    command, *words = shlex.split(job["spec"]["entrypoint"])
    assert command == "vtr"
    quoted_commands.check(words, monkeypatch)
    settings = dict(pairwise(words))
    assert {name: settings[f"--{name}"] for name in LARGE.changes} == {
        name: str(value) for name, value in LARGE.changes.items()
    }


@pytest.mark.parametrize("name", ["mlflow.yaml", "prometheus.yaml"])
def test_kubernetes_knows_the_servers(name: str) -> None:
    found = _read(name)
    for each in found:
        kubernetes_validate.validate(each, KUBERNETES, strict=True)
    kinds = {each["kind"]: each for each in found}
    pod, service = kinds["Deployment"]["spec"]["template"], kinds["Service"]["spec"]
    assert service["selector"].items() <= pod["metadata"]["labels"].items()
    (container,) = pod["spec"]["containers"]
    assert {port["targetPort"] for port in service["ports"]} <= {port["name"] for port in container["ports"]}
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    claims = {each["metadata"]["name"] for each in found if each["kind"] == "PersistentVolumeClaim"}
    mounted = [each["persistentVolumeClaim"] for each in pod["spec"]["volumes"] if "persistentVolumeClaim" in each]
    assert {each["claimName"] for each in mounted} == claims


def test_runs_log_to_the_server_beside_the_cluster(objects: dict[str, Object]) -> None:
    service = next(each for each in _read("mlflow.yaml") if each["kind"] == "Service")
    (port,) = service["spec"]["ports"]
    uri = f"http://{service['metadata']['name']}:{port['port']}"
    assert objects["ConfigMap"]["data"]["MLFLOW_TRACKING_URI"] == uri
    (container,) = next(each for each in _read("mlflow.yaml") if each["kind"] == "Deployment")["spec"]["template"][
        "spec"
    ]["containers"]
    assert any(word.startswith("--allowed-hosts=mlflow:5000,") for word in container["args"])


def _environment(container: Object) -> dict[str, tuple[str, str]]:
    """Variables that a container has from secrets: the secret and the key of each."""
    sources = {each["name"]: each["valueFrom"]["secretKeyRef"] for each in container.get("env", ())}
    return {name: (source["name"], source["key"]) for name, source in sources.items()}


def test_mlflow_asks_for_the_login_that_the_cluster_has(objects: dict[str, Object]) -> None:
    deployment = next(each for each in _read("mlflow.yaml") if each["kind"] == "Deployment")
    (server,) = deployment["spec"]["template"]["spec"]["containers"]
    assert "--app-name=basic-auth" in server["args"]
    known = _environment(server)
    assert set(known) == {"MLFLOW_AUTH_ADMIN_USERNAME", "MLFLOW_AUTH_ADMIN_PASSWORD", "MLFLOW_FLASK_SERVER_SECRET_KEY"}
    assert server["workingDir"] in {mount["mountPath"] for mount in server["volumeMounts"]}, "its users are kept"
    for group in _groups(objects):
        sent = _environment(_container(group))
        assert sent == {
            "MLFLOW_TRACKING_USERNAME": known["MLFLOW_AUTH_ADMIN_USERNAME"],
            "MLFLOW_TRACKING_PASSWORD": known["MLFLOW_AUTH_ADMIN_PASSWORD"],
        }
    made = re.findall(r"--from-literal=([\w-]+)=", (FOLDER / "mlflow.yaml").read_text())
    assert {key for _, key in known.values()} == set(made)
    assert not [each for name in RESOURCES for each in _read(name) if each["kind"] == "Secret"]


RESOURCES = [file.name for file in FOLDER.glob("*.yaml") if file.name != "kustomization.yaml"]


def test_only_pods_of_the_cluster_reach_its_ports(objects: dict[str, Object]) -> None:
    policies = {each["metadata"]["name"]: each for each in _read("network.yaml")}
    for each in policies.values():
        kubernetes_validate.validate(each, KUBERNETES, strict=True)
        assert each["spec"]["policyTypes"] == ["Ingress"]
    cluster = {"podSelector": {"matchLabels": {"ray.io/cluster": objects["RayCluster"]["metadata"]["name"]}}}
    assert all(cluster in rule["from"] for name in ("vtr", "mlflow") for rule in policies[name]["spec"]["ingress"][:1])
    assert policies["vtr"]["spec"]["podSelector"] == cluster["podSelector"]
    assert policies["prometheus"]["spec"]["ingress"] == []
    every, *others = policies["vtr"]["spec"]["ingress"]
    assert every == {"from": [cluster]}
    submitting = {"matchLabels": {"batch.kubernetes.io/job-name": objects["RayJob"]["metadata"]["name"]}}
    assert {"podSelector": submitting} in others[0]["from"]
    assert [rule["ports"] for rule in others] == [[{"port": 8265}], [{"port": 8080}]]
    assert policies["mlflow"]["spec"]["ingress"] == [{"from": [cluster], "ports": [{"port": 5000}]}]
    pods = [each["spec"]["template"] for name in RESOURCES for each in _read(name) if each["kind"] == "Deployment"]
    guarded = [policies[name]["spec"]["podSelector"]["matchLabels"] for name in ("mlflow", "prometheus")]
    assert sorted(map(str, guarded)) == sorted(str(pod["metadata"]["labels"]) for pod in pods)
