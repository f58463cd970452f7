"""Every rule of KubeRay's refuses what it is about, and nothing else does."""

import copy
from typing import Any

import pytest

from tests.cluster.kuberay_fields import RayCluster, RayJob
from tests.cluster.kuberay_rules import EVERY, refused

Change = tuple[str, Any]
"""A place, such as spec.workerGroupSpecs.0.suspend, and what is put there."""

POD = {"spec": {"containers": [{"name": "ray", "image": "ray:cpu"}]}}
CLUSTER: dict[str, Any] = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "metadata": {"name": "one"},
    "spec": {
        "rayVersion": "2.60.0",
        "enableInTreeAutoscaling": True,
        "autoscalerOptions": {"version": "v2"},
        "headGroupSpec": {"template": POD},
        "workerGroupSpecs": [{"groupName": "cpu", "minReplicas": 0, "maxReplicas": 2, "template": POD}],
    },
}
JOB: dict[str, Any] = {
    "apiVersion": "ray.io/v1",
    "kind": "RayJob",
    "metadata": {"name": "one"},
    "spec": {"entrypoint": "true", "clusterSelector": {"ray.io/cluster": "one"}},
}
HEAD, WORKERS = "spec.headGroupSpec", "spec.workerGroupSpecs.0"
HEAD_ENV, NEVER = f"{HEAD}.template.spec.containers.0.env", f"{HEAD}.template.spec.restartPolicy"
OWN = ("spec", {"entrypoint": "true", "rayClusterSpec": CLUSTER["spec"]})
"""A job with a cluster of its own."""

CLUSTERS: dict[str, list[list[Change]]] = {
    "a cluster's name is a DNS label of 53 characters": [
        [("metadata.name", "x" * 54)],
        [("metadata.name", "1st")],
        [("metadata.name", "One")],
    ],
    "tokens need Ray 2.52": [
        [("spec.authOptions", {"mode": "token"}), ("spec.rayVersion", "2.51.1")],
        [("spec.authOptions", {"mode": "token"}), ("spec.rayVersion", "")],
    ],
    "Kubernetes' tokens need mode token, Ray 2.55 and no Secret": [
        [("spec.authOptions", {"mode": "disabled", "enableK8sTokenAuth": True})],
        [("spec.authOptions", {"enableK8sTokenAuth": True}), ("spec.rayVersion", "2.54.0")],
        [("spec.authOptions", {"enableK8sTokenAuth": True, "secretName": "mine"})],
    ],
    "Redis is named by gcsFaultToleranceOptions alone": [
        [(HEAD_ENV, [{"name": "RAY_REDIS_ADDRESS", "value": "redis:6379"}])],
        [(f"{HEAD}.rayStartParams", {"redis-username": "me"})],
    ],
    "the second autoscaler is not switched on where there is none": [
        [("spec.enableInTreeAutoscaling", False), (HEAD_ENV, [{"name": "RAY_enable_autoscaler_v2", "value": "1"}])],
    ],
    "the autoscaler's version is said once": [[(HEAD_ENV, [{"name": "RAY_enable_autoscaler_v2", "value": "1"}])]],
    "pods of the second autoscaler are never restarted in place": [
        [(NEVER, "Always")],
        [(f"{WORKERS}.template.spec.restartPolicy", "OnFailure")],
    ],
    "groups are not suspended where there is an autoscaler": [[(f"{WORKERS}.suspend", True)]],
    "idleTimeoutSeconds of the autoscaler is not negative": [[("spec.autoscalerOptions.idleTimeoutSeconds", -1)]],
    "idleTimeoutSeconds of a group needs the second autoscaler": [
        [(f"{WORKERS}.idleTimeoutSeconds", 60), ("spec.autoscalerOptions.version", "v1")],
    ],
    "priority needs the second autoscaler and Ray 2.56": [
        [(f"{WORKERS}.priority", 1), ("spec.autoscalerOptions.version", "v1")],
        [(f"{WORKERS}.priority", 1), ("spec.rayVersion", "2.55.1")],
    ],
    "the autoscaler's command is KubeRay's own variable": [
        [("spec.autoscalerOptions.env", [{"name": "KUBERAY_GEN_AUTOSCALER_START_CMD", "value": "true"}])],
    ],
    "a pod has a container": [
        [(f"{HEAD}.template", {"spec": {}})],
        [(f"{WORKERS}.template", {"spec": {"containers": []}})],
    ],
    "resources are in rayStartParams or in resources, not in both": [
        [(f"{WORKERS}.rayStartParams", {"num-cpus": "1"}), (f"{WORKERS}.resources", {"CPU": "1"})],
    ],
    "labels are not in rayStartParams": [[(f"{HEAD}.rayStartParams", {"labels": "a=b"})]],
    "labels are Kubernetes labels": [
        [(f"{WORKERS}.labels", {"role of it": "reading"})],
        [(f"{WORKERS}.labels", {"role": "-"})],
        [(f"{WORKERS}.labels", {"Up/role": "reading"})],
        [(f"{WORKERS}.labels", {"role": "x" * 64})],
    ],
    "0 <= minReplicas <= maxReplicas": [[(f"{WORKERS}.minReplicas", 3)], [(f"{WORKERS}.minReplicas", -1)]],
    "idleTimeoutSeconds of a group is not negative": [[(f"{WORKERS}.idleTimeoutSeconds", -1)]],
}

JOBS: dict[str, list[list[Change]]] = {
    "a job's name is a DNS label of 47 characters": [[("metadata.name", "x" * 48)], [("metadata.name", "a_b")]],
    "ttlSecondsAfterFinished needs shutdownAfterJobFinishes": [[("spec.ttlSecondsAfterFinished", 60)]],
    "ttlSecondsAfterFinished is not negative": [[("spec.ttlSecondsAfterFinished", -1)]],
    "suspend needs shutdownAfterJobFinishes": [[OWN, ("spec.suspend", True)]],
    "a cluster of others is not suspended": [[("spec.suspend", True), ("spec.shutdownAfterJobFinishes", True)]],
    "there is a clusterSelector or a rayClusterSpec": [[("spec.clusterSelector", {})]],
    "clusterSelector names the cluster as ray.io/cluster": [[("spec.clusterSelector", {"name": "one"})]],
    "SidecarMode needs a cluster of the job's own": [[("spec.submissionMode", "SidecarMode")]],
    "retries need a cluster of the job's own": [[("spec.backoffLimit", 1)]],
    "InteractiveMode does not retry": [[OWN, ("spec.submissionMode", "InteractiveMode"), ("spec.backoffLimit", 1)]],
    "SidecarMode has no submitter": [
        [OWN, ("spec.submissionMode", "SidecarMode"), ("spec.submitterPodTemplate", POD)],
        [OWN, ("spec.submissionMode", "SidecarMode"), ("spec.submitterConfig", {"backoffLimit": 1})],
    ],
    "in SidecarMode the head is never restarted in place": [
        [
            OWN,
            ("spec.submissionMode", "SidecarMode"),
            ("spec.rayClusterSpec.enableInTreeAutoscaling", False),
            ("spec.rayClusterSpec.headGroupSpec.template.spec.restartPolicy", "Always"),
        ],
    ],
    "a job's own cluster has none of Kubernetes' tokens": [
        [OWN, ("spec.rayClusterSpec.authOptions", {"mode": "token", "enableK8sTokenAuth": True})],
    ],
    "runtimeEnvYAML is a mapping in YAML": [[("spec.runtimeEnvYAML", "a: [")], [("spec.runtimeEnvYAML", "- a")]],
    "activeDeadlineSeconds is positive": [[("spec.activeDeadlineSeconds", 0)]],
    "preRunningDeadlineSeconds is positive": [[("spec.preRunningDeadlineSeconds", 0)]],
    "backoffLimit is not negative": [[("spec.backoffLimit", -1)]],
    "0 <= minReplicas <= maxReplicas": [[OWN, ("spec.rayClusterSpec.workerGroupSpecs.0.maxReplicas", -1)]],
}


def _changed(thing: dict[str, Any], changes: list[Change]) -> dict[str, Any]:
    changed = copy.deepcopy(thing)
    for place, value in changes:
        *path, last = [int(step) if step.isdecimal() else step for step in place.split(".")]
        inside: Any = changed
        for step in path:
            inside = inside[step]
        inside[last] = copy.deepcopy(value)
    return changed


@pytest.mark.parametrize(("says", "changes"), [(says, each) for says, cases in CLUSTERS.items() for each in cases])
def test_a_cluster_that_is_refused(says: str, changes: list[Change]) -> None:
    assert refused(RayCluster.model_validate(_changed(CLUSTER, changes))) == [says]


@pytest.mark.parametrize(("says", "changes"), [(says, each) for says, cases in JOBS.items() for each in cases])
def test_a_job_that_is_refused(says: str, changes: list[Change]) -> None:
    assert refused(RayJob.model_validate(_changed(JOB, changes))) == [says]


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [OWN],
        [OWN, ("spec.backoffLimit", 2), ("spec.submissionMode", "SidecarMode")],
        [OWN, ("spec.suspend", True), ("spec.shutdownAfterJobFinishes", True)],
        [("spec.ttlSecondsAfterFinished", 60), ("spec.shutdownAfterJobFinishes", True)],
        [("spec.runtimeEnvYAML", "env_vars: {A: b}"), ("spec.activeDeadlineSeconds", 60)],
    ],
)
def test_a_job_that_is_taken(changes: list[Change]) -> None:
    assert refused(RayJob.model_validate(_changed(JOB, changes))) == []


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [("spec.authOptions", {"mode": "token"})],
        [("spec.authOptions", {"enableK8sTokenAuth": True}), (f"{WORKERS}.priority", 1)],
        [(f"{WORKERS}.labels", {"vtr-role": "reading", "ray.io/accelerator": ""}), (NEVER, "Never")],
        [("spec.enableInTreeAutoscaling", False), (NEVER, "Always"), (f"{WORKERS}.suspend", True)],
        [("spec.autoscalerOptions.version", None), (HEAD_ENV, [{"name": "RAY_enable_autoscaler_v2", "value": "1"}])],
    ],
)
def test_a_cluster_that_is_taken(changes: list[Change]) -> None:
    assert refused(RayCluster.model_validate(_changed(CLUSTER, changes))) == []


def test_every_rule_is_tried() -> None:
    assert CLUSTERS.keys() | JOBS.keys() == EVERY
