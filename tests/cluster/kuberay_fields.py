"""What KubeRay 1.5.1 and newer read of a RayCluster and a RayJob, as far as kuberay.yaml uses it.

KubeRay's own schemas (its custom resource definitions) are on no package index. These models know the fields' names and
types from its API reference; anything else is an error. Pod templates are left to Kubernetes' own schemas.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel


class Fields(BaseModel):
    """A part of an object: an unknown field is an error, and numbers are not text."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)


class AuthOptions(Fields):
    mode: Literal["disabled", "token"] = "token"


class AutoscalerOptions(Fields):
    version: Literal["v1", "v2"] | None = None
    upscaling_mode: Literal["Default", "Aggressive", "Conservative"] | None = None
    idle_timeout_seconds: int | None = None
    resources: dict[Literal["requests", "limits"], dict[str, str]] | None = None


class HeadGroup(Fields):
    service_type: Literal["ClusterIP", "NodePort", "LoadBalancer"] | None = None
    ray_start_params: dict[str, str] = {}
    labels: dict[str, str] = {}
    template: dict[str, Any]


class WorkerGroup(Fields):
    group_name: str
    replicas: int = 0
    min_replicas: int = Field(ge=0)
    max_replicas: int = Field(ge=0)
    idle_timeout_seconds: int | None = None
    ray_start_params: dict[str, str] = {}
    labels: dict[str, str] = {}
    template: dict[str, Any]

    @model_validator(mode="after")
    def _replicas_are_between(self) -> "WorkerGroup":
        if not self.min_replicas <= self.replicas <= self.max_replicas:
            raise ValueError(f"{self.replicas} replicas are not between {self.min_replicas} and {self.max_replicas}")
        return self


class ClusterSpec(Fields):
    ray_version: str
    auth_options: AuthOptions | None = None
    enable_in_tree_autoscaling: bool = False
    autoscaler_options: AutoscalerOptions | None = None
    head_group_spec: HeadGroup
    worker_group_specs: list[WorkerGroup]


class JobSpec(Fields):
    entrypoint: str
    cluster_selector: dict[str, str]
    runtime_env_yaml: str = Field("", alias="runtimeEnvYAML")
    submission_mode: Literal["K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"] = "K8sJobMode"
    backoff_limit: int = 0
    ttl_seconds_after_finished: int = 0


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
