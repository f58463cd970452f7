"""What KubeRay refuses of a RayCluster or a RayJob although its schemas allow it.

These are the rules of KubeRay 1.7.0 (`ValidateRayClusterMetadata`, `ValidateRayClusterSpec`, `ValidateRayJobMetadata`
and `ValidateRayJobSpec` in ray-operator/controllers/ray/utils/validation.go) for the fields that kuberay_fields.py has,
in an operator as it is installed. Kubernetes takes an object that breaks one; the operator then leaves a job in
the state ValidationFailed, and a cluster without pods.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import yaml

from tests.cluster.kuberay_fields import ClusterSpec, Group, JobSpec, Pod, RayCluster, RayJob, WorkerGroup

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Rule(Generic[Thing]):
    """What must hold, in words and as a test."""

    says: str
    holds: Callable[[Thing], bool]


def refused(thing: RayCluster | RayJob) -> list[str]:
    """The rules that it breaks; none where KubeRay takes it."""
    match thing:
        case RayCluster():
            return [*_broken(CLUSTER_NAME, thing.metadata.name), *_refused_cluster(thing.spec)]
        case RayJob():
            own = thing.spec.ray_cluster_spec
            found = [*_broken(JOB_NAME, thing.metadata.name), *_broken(JOB, thing.spec)]
            return [*found, *(_refused_cluster(own) if own is not None else ())]


def _refused_cluster(spec: ClusterSpec) -> Iterator[str]:
    yield from _broken(CLUSTER, spec)
    for group in spec.groups:
        yield from _broken(GROUP, group)
    for workers in spec.worker_group_specs:
        yield from _broken(WORKERS, workers)


def _broken(rules: "tuple[Rule[Thing], ...]", thing: Thing) -> list[str]:
    return [rule.says for rule in rules if not rule.holds(thing)]


# What the rules look at.


def _is_name(name: str, longest: int) -> bool:
    """A DNS label that begins with a letter, as names of services must."""
    return len(name) <= longest and re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name) is not None


def _is_label(key: str, value: str) -> bool:
    prefix, _, name = key.rpartition("/")
    word = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
    is_prefix = not prefix or (len(prefix) <= 253 and re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", prefix))
    return bool(is_prefix) and re.fullmatch(word, name) is not None and re.fullmatch(f"({word})?", value) is not None


def _containers(pod: Pod) -> list[dict[str, Any]]:
    return list(pod["spec"].get("containers", []))


def _variables(spec: ClusterSpec) -> dict[str, str]:
    """Those of the head's first container, which is Ray's."""
    first = _containers(spec.head_group_spec.template)[:1]
    return {each["name"]: each.get("value", "") for container in first for each in container.get("env", [])}


def _is_never_restarted(pod: Pod) -> bool:
    return pod["spec"].get("restartPolicy", "Never") == "Never"


def _is_v2(spec: ClusterSpec) -> bool:
    return spec.autoscaler.version == "v2" or _variables(spec).get(V2_VARIABLE) in ("1", "true")


def _is_ray(spec: ClusterSpec, *least: int) -> bool:
    """Whether the version is told, and is `least` or newer."""
    numbers = re.match(r"v?(\d+)\.(\d+)", spec.ray_version)
    return numbers is not None and tuple(map(int, numbers.groups())) >= least


def _is_mapping(text: str) -> bool:
    try:
        return isinstance(yaml.safe_load(text), dict | None)
    except yaml.YAMLError:
        return False


V2_VARIABLE = "RAY_enable_autoscaler_v2"
START_RESOURCES = {"num-cpus", "num-gpus", "memory", "resources"}


# The rules.

CLUSTER_NAME = (Rule[str]("a cluster's name is a DNS label of 53 characters", lambda name: _is_name(name, 53)),)
JOB_NAME = (Rule[str]("a job's name is a DNS label of 47 characters", lambda name: _is_name(name, 47)),)

CLUSTER = (
    Rule[ClusterSpec](
        "tokens need Ray 2.52",
        lambda spec: spec.auth_options is None or spec.auth_options.mode != "token" or _is_ray(spec, 2, 52),
    ),
    Rule[ClusterSpec](
        "Kubernetes' tokens need mode token, Ray 2.55 and no Secret",
        lambda spec: (
            spec.auth_options is None
            or not spec.auth_options.enable_k8s_token_auth
            or (spec.auth_options.mode == "token" and _is_ray(spec, 2, 55) and not spec.auth_options.secret_name)
        ),
    ),
    Rule[ClusterSpec](
        "Redis is named by gcsFaultToleranceOptions alone",
        lambda spec: (
            not {"RAY_REDIS_ADDRESS", "REDIS_USERNAME"} & _variables(spec).keys()
            and not spec.head_group_spec.ray_start_params.get("redis-username")
        ),
    ),
    Rule[ClusterSpec](
        "the second autoscaler is not switched on where there is none",
        lambda spec: spec.enable_in_tree_autoscaling or _variables(spec).get(V2_VARIABLE) not in ("1", "true"),
    ),
    Rule[ClusterSpec](
        "the autoscaler's version is said once",
        lambda spec: (
            not spec.enable_in_tree_autoscaling
            or spec.autoscaler.version is None
            or V2_VARIABLE not in _variables(spec)
        ),
    ),
    Rule[ClusterSpec](
        "pods of the second autoscaler are never restarted in place",
        lambda spec: (
            not spec.enable_in_tree_autoscaling
            or spec.autoscaler.version != "v2"
            or all(_is_never_restarted(group.template) for group in spec.groups)
        ),
    ),
    Rule[ClusterSpec](
        "groups are not suspended where there is an autoscaler",
        lambda spec: not spec.enable_in_tree_autoscaling or not any(group.suspend for group in spec.worker_group_specs),
    ),
    Rule[ClusterSpec](
        "idleTimeoutSeconds of the autoscaler is not negative",
        lambda spec: (spec.autoscaler.idle_timeout_seconds or 0) >= 0,
    ),
    Rule[ClusterSpec](
        "idleTimeoutSeconds of a group needs the second autoscaler",
        lambda spec: _is_v2(spec) or all(group.idle_timeout_seconds is None for group in spec.worker_group_specs),
    ),
    Rule[ClusterSpec](
        "priority needs the second autoscaler and Ray 2.56",
        lambda spec: (
            not any(group.priority for group in spec.worker_group_specs) or (_is_v2(spec) and _is_ray(spec, 2, 56))
        ),
    ),
    Rule[ClusterSpec](
        "the autoscaler's command is KubeRay's own variable",
        lambda spec: "KUBERAY_GEN_AUTOSCALER_START_CMD" not in {each["name"] for each in spec.autoscaler.env},
    ),
)

GROUP = (
    Rule[Group]("a pod has a container", lambda group: bool(_containers(group.template))),
    Rule[Group](
        "resources are in rayStartParams or in resources, not in both",
        lambda group: not group.resources or not START_RESOURCES & group.ray_start_params.keys(),
    ),
    Rule[Group]("labels are not in rayStartParams", lambda group: "labels" not in group.ray_start_params),
    Rule[Group](
        "labels are Kubernetes labels", lambda group: all(_is_label(key, value) for key, value in group.labels.items())
    ),
)

WORKERS = (
    Rule[WorkerGroup]("0 <= minReplicas <= maxReplicas", lambda group: 0 <= group.min_replicas <= group.max_replicas),
    Rule[WorkerGroup](
        "idleTimeoutSeconds of a group is not negative", lambda group: (group.idle_timeout_seconds or 0) >= 0
    ),
)

JOB = (
    Rule[JobSpec](
        "ttlSecondsAfterFinished needs shutdownAfterJobFinishes",
        lambda job: job.ttl_seconds_after_finished <= 0 or job.shutdown_after_job_finishes,
    ),
    Rule[JobSpec]("ttlSecondsAfterFinished is not negative", lambda job: job.ttl_seconds_after_finished >= 0),
    Rule[JobSpec](
        "suspend needs shutdownAfterJobFinishes", lambda job: not job.suspend or job.shutdown_after_job_finishes
    ),
    Rule[JobSpec]("a cluster of others is not suspended", lambda job: not (job.suspend and job.cluster_selector)),
    Rule[JobSpec](
        "there is a clusterSelector or a rayClusterSpec",
        lambda job: bool(job.cluster_selector) or job.ray_cluster_spec is not None,
    ),
    Rule[JobSpec](
        "clusterSelector names the cluster as ray.io/cluster",
        lambda job: not job.cluster_selector or bool(job.cluster_selector.get("ray.io/cluster")),
    ),
    Rule[JobSpec](
        "SidecarMode needs a cluster of the job's own",
        lambda job: not job.cluster_selector or job.submission_mode != "SidecarMode",
    ),
    Rule[JobSpec](
        "retries need a cluster of the job's own", lambda job: not job.cluster_selector or job.backoff_limit <= 0
    ),
    Rule[JobSpec](
        "InteractiveMode does not retry", lambda job: job.submission_mode != "InteractiveMode" or job.backoff_limit <= 0
    ),
    Rule[JobSpec](
        "SidecarMode has no submitter",
        lambda job: (
            job.submission_mode != "SidecarMode"
            or (job.submitter_pod_template is None and job.submitter_config is None)
        ),
    ),
    Rule[JobSpec](
        "in SidecarMode the head is never restarted in place",
        lambda job: (
            job.submission_mode != "SidecarMode"
            or job.ray_cluster_spec is None
            or _is_never_restarted(job.ray_cluster_spec.head_group_spec.template)
        ),
    ),
    Rule[JobSpec](
        "a job's own cluster has none of Kubernetes' tokens",
        lambda job: (
            job.ray_cluster_spec is None
            or job.ray_cluster_spec.auth_options is None
            or not job.ray_cluster_spec.auth_options.enable_k8s_token_auth
        ),
    ),
    Rule[JobSpec]("runtimeEnvYAML is a mapping in YAML", lambda job: _is_mapping(job.runtime_env_yaml)),
    Rule[JobSpec](
        "activeDeadlineSeconds is positive",
        lambda job: job.active_deadline_seconds is None or job.active_deadline_seconds > 0,
    ),
    Rule[JobSpec](
        "preRunningDeadlineSeconds is positive",
        lambda job: job.pre_running_deadline_seconds is None or job.pre_running_deadline_seconds > 0,
    ),
    Rule[JobSpec]("backoffLimit is not negative", lambda job: job.backoff_limit >= 0),
)
EVERY = {rule.says for rules in (CLUSTER_NAME, JOB_NAME, CLUSTER, GROUP, WORKERS, JOB) for rule in rules}
