"""Placement of a run on a cluster: reading tasks on labelled nodes if there are any, workers on the others."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import ray
from ray.data import DataContext

from vtr_core import ray_private
from vtr_core.config.scaling import ReadingNodes, ScalingConfig

LABEL, READING = "vtr-role", "reading"
"""Nodes started with `ray start --labels vtr-role=reading` are for reading; see cluster/ray-cluster.yaml."""
Selector = dict[str, str]
Node = Mapping[str, Any]
"""A node as `ray.nodes()` describes it."""


@dataclass(frozen=True)
class Placement:
    """Which nodes take reading tasks and which take workers, as Ray's label selectors."""

    is_apart: bool = False
    """Whether reading tasks run on labelled nodes."""
    nodes: int = 0
    """The nodes with the label, as long as no autoscaler starts more."""

    @property
    def reading(self) -> Selector:
        """Label selector of reading tasks."""
        return {LABEL: READING} if self.is_apart else {}

    @property
    def workers(self) -> Selector:
        """Label selector of workers, which keeps them off the nodes for reading."""
        return {LABEL: f"!{READING}"} if self.is_apart else {}

    def __str__(self) -> str:
        if self.is_apart:
            return f"{self.nodes} node{'s' if self.nodes != 1 else ''} labelled {LABEL}={READING}"
        return "any node"


@dataclass(frozen=True)
class Room:
    """CPUs and GPUs of a cluster, free or not: those it has, or those its autoscaler can grow to."""

    cpus: float
    gpus: float
    reading_cpus: float | None = None
    """CPUs on the labelled nodes; None where reading may run on any node, or the number is unknown."""

    def holds(self, scaling: ScalingConfig, workers: int) -> bool:
        """Whether the CPUs suffice for this many workers and for reading; GPUs are not checked."""
        wanted = workers * scaling.cpus_per_worker
        if scaling.workers == 0:
            return scaling.cpus <= self.cpus
        if self.reading_cpus is None:
            return wanted + scaling.reading_cpus <= self.cpus
        return wanted <= self.cpus - self.reading_cpus and scaling.reading_cpus <= self.reading_cpus

    def runs(self, scaling: ScalingConfig, gpu: bool) -> int:
        """How many runs of `scaling.workers` workers, each with its own reading tasks, fit at once."""
        workers = scaling.workers * scaling.cpus_per_worker
        if self.reading_cpus is None or scaling.workers == 0:
            fit = self.cpus / scaling.cpus
        else:
            fit = min((self.cpus - self.reading_cpus) / workers, self.reading_cpus / scaling.reading_cpus)
        return math.floor(min(fit, self.gpus / max(1, scaling.workers)) if gpu else fit)

    def __str__(self) -> str:
        if self.reading_cpus is None:
            return f"{self.cpus:g}"
        return f"{self.cpus - self.reading_cpus:g} for workers and {self.reading_cpus:g} for reading"


def placement(wanted: ReadingNodes) -> Placement:
    """The placement that the setting asks for, on the connected cluster."""
    return resolve(wanted, ray.nodes())


def resolve(wanted: ReadingNodes, nodes: Iterable[Node]) -> Placement:
    """The placement that the setting asks for, on a cluster of these nodes."""
    labelled = len(_for_reading(nodes))
    match wanted:
        case "any":
            return Placement(False, labelled)
        case "auto":
            return Placement(labelled > 0, labelled)
        case "labelled":
            return Placement(True, labelled)
        case _:
            assert_never(wanted)


def place_reading(chosen: Placement) -> None:
    """Run the Ray Data tasks of this process on the nodes for reading from now on."""
    DataContext.get_current().execution_options.label_selector = chosen.reading or None


def room(chosen: Placement) -> Room:
    """The resources of the connected cluster, or those that it can grow to."""
    return room_of(chosen, ray.nodes(), ray_private.autoscaler_limits())


def room_of(chosen: Placement, nodes: Iterable[Node], limits: Mapping[str, float] | None) -> Room:
    """The resources that these nodes have, or that an autoscaler with these limits can provide.

    Limits hold for the whole cluster: they do not tell nodes for reading from the others.
    """
    found = list(nodes)
    cpus, gpus = _sum(found, "CPU"), _sum(found, "GPU")
    if limits is not None:
        return Room(max(cpus, limits.get("CPU", 0.0)), max(gpus, limits.get("GPU", 0.0)))
    return Room(cpus, gpus, _sum(_for_reading(found), "CPU") if chosen.is_apart else None)


def _for_reading(nodes: Iterable[Node]) -> list[Node]:
    return [node for node in nodes if node["Alive"] and node["Labels"].get(LABEL) == READING]


def _sum(nodes: Iterable[Node], resource: str) -> float:
    return sum(float(node["Resources"].get(resource, 0.0)) for node in nodes if node["Alive"])
