"""What KubeRay 1.5.1 and newer read of a RayCluster and a RayJob, as far as cluster/kuberay uses it.

KubeRay's own schemas (its custom resource definitions) are on no package index. These models know the fields' names and
types from its API reference; anything else is an error. What the fields must not say is in kuberay_rules.py; pod
templates are left to Kubernetes' own schemas.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Pod = dict[str, Any]


class Fields(BaseModel):
    """A part of an object: an unknown field is an error, and numbers are not text."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)


class AuthOptions(Fields):
    mode: Literal["disabled", "token"] = "token"
    secret_name: str = ""
    enable_k8s_token_auth: bool = Field(False, alias="enableK8sTokenAuth")


class AutoscalerOptions(Fields):
    version: Literal["v1", "v2"] | None = None
    upscaling_mode: Literal["Default", "Aggressive", "Conservative"] | None = None
    idle_timeout_seconds: int | None = None
    resources: dict[Literal["requests", "limits"], dict[str, str]] | None = None
    env: list[dict[str, Any]] = []


class Group(Fields):
    ray_start_params: dict[str, str] = {}
    resources: dict[str, str] = {}
    labels: dict[str, str] = {}
    template: Pod


class HeadGroup(Group):
    service_type: Literal["ClusterIP", "NodePort", "LoadBalancer"] | None = None


class WorkerGroup(Group):
    group_name: str
    replicas: int = 0
    min_replicas: int
    max_replicas: int
    idle_timeout_seconds: int | None = None
    priority: int = 0
    suspend: bool = False


class ClusterSpec(Fields):
    ray_version: str = ""
    auth_options: AuthOptions | None = None
    enable_in_tree_autoscaling: bool = False
    autoscaler_options: AutoscalerOptions | None = None
    head_group_spec: HeadGroup
    worker_group_specs: list[WorkerGroup]

    @property
    def autoscaler(self) -> AutoscalerOptions:
        """Its options, as they are where none are given."""
        return self.autoscaler_options or AutoscalerOptions()

    @property
    def groups(self) -> list[Group]:
        """The head's and the workers'."""
        return [self.head_group_spec, *self.worker_group_specs]


class JobSpec(Fields):
    entrypoint: str
    cluster_selector: dict[str, str] = {}
    ray_cluster_spec: ClusterSpec | None = None
    runtime_env_yaml: str = Field("", alias="runtimeEnvYAML")
    submission_mode: Literal["K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"] = "K8sJobMode"
    submitter_pod_template: Pod | None = None
    submitter_config: dict[str, int] | None = None
    backoff_limit: int = 0
    active_deadline_seconds: int | None = None
    pre_running_deadline_seconds: int | None = None
    shutdown_after_job_finishes: bool = False
    ttl_seconds_after_finished: int = 0
    suspend: bool = False


class Metadata(Fields):
    name: str
    labels: dict[str, str] = {}


class RayCluster(Fields):
    api_version: Literal["ray.io/v1"]
    kind: Literal["RayCluster"]
    metadata: Metadata
    spec: ClusterSpec


class RayJob(Fields):
    api_version: Literal["ray.io/v1"]
    kind: Literal["RayJob"]
    metadata: Metadata
    spec: JobSpec
