"""Placement of a run on a cluster: reading tasks and workers on nodes, and the reservation of their resources.

Numbers of workers are chosen here: Ray's elastic groups (2.60, `num_workers=(1, 4)`) took all four CPUs, where reading
waits for ever, take numbers that do not divide the batch, and are resized without a checkpoint.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import ray
from ray.data import DataContext
from ray.util import placement_group, placement_group_table, remove_placement_group
from ray.util.placement_group import PlacementGroup

from vtr_core import ray_private
from vtr_core.config.run import ReadingNodes, ScalingConfig

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
        cpus = workers * scaling.cpus_per_worker
        if scaling.workers == 0:
            return scaling.cpus <= self.cpus
        if self.reading_cpus is None:
            return cpus + scaling.reading_cpus <= self.cpus
        return cpus <= self.cpus - self.reading_cpus and scaling.reading_cpus <= self.reading_cpus

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


def placement(setting: ReadingNodes) -> Placement:
    """The placement that the setting asks for, on the connected cluster."""
    return resolve(setting, ray.nodes())


def resolve(setting: ReadingNodes, nodes: Iterable[Node]) -> Placement:
    """The placement that the setting asks for, on a cluster of these nodes."""
    labelled = len(_for_reading(nodes))
    return Placement(setting == "labelled" or (setting == "auto" and labelled > 0), labelled)


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
    listed = list(nodes)
    cpus, gpus = _sum(listed, "CPU"), _sum(listed, "GPU")
    if limits is not None:
        return Room(max(cpus, limits.get("CPU", 0.0)), max(gpus, limits.get("GPU", 0.0)))
    return Room(cpus, gpus, _sum(_for_reading(listed), "CPU") if chosen.is_apart else None)


def _for_reading(nodes: Iterable[Node]) -> list[Node]:
    return [node for node in nodes if node["Alive"] and node["Labels"].get(LABEL) == READING]


def _sum(nodes: Iterable[Node], resource: str) -> float:
    return sum(float(node["Resources"].get(resource, 0.0)) for node in nodes if node["Alive"])


Bundle = dict[str, float]
SETTLE_S = 5.0
"""Seconds to wait for more than the fewest workers before a group begins."""
_POLL_S = 0.2


class Request:
    """A request for resources, all or none, which stays in Ray's queue, visible to an autoscaler, until withdrawn.

    Nodes that are dead or about to be preempted do not count. Each bundle comes with the labels of its node.
    """

    def __init__(self, bundles: Sequence[tuple[Mapping[str, float], Selector]]) -> None:
        self._group: PlacementGroup | None = placement_group(
            [dict(bundle) for bundle, _ in bundles], bundle_label_selector=[selector for _, selector in bundles]
        )

    def is_granted(self) -> bool:
        """Whether the resources are reserved for us now."""
        return self._group is not None and placement_group_table(self._group)["state"] == "CREATED"

    def withdraw(self) -> None:
        """Release the resources."""
        if self._group is not None:
            remove_placement_group(self._group)
            self._group = None


def worker_bundle(scaling: ScalingConfig, gpu: bool) -> Bundle:
    """The resources of one worker."""
    return {"CPU": scaling.cpus_per_worker, **({"GPU": 1.0} if gpu else {})}


def wait_for_room(
    scaling: ScalingConfig,
    counts: Sequence[int],
    gpu: bool,
    placed: Placement,
    give_up: Callable[[], bool],
    on_wait: Callable[[], None],
) -> int | None:
    """The largest of the ascending worker `counts` that the cluster has resources for, with CPUs left for reading.

    Waits for the smallest count as long as it takes, and then up to SETTLE_S for more. `on_wait` is called once if
    resources are not available at once; None as soon as `give_up` says so. The resources are free again on return, for
    Ray Train to take.
    """
    worker = (worker_bundle(scaling, gpu), placed.workers)
    whole, rest = divmod(scaling.reading_cpus, 1)  # reading tasks take one CPU each
    reading = [({"CPU": cpus}, placed.reading) for cpus in (*[1.0] * int(whole), *([rest] if rest else []))]
    needed = Request([worker] * counts[0] + reading)
    further = [Request([worker] * (after - before)) for before, after in pairwise(counts)]
    begin, has_waited = time.monotonic(), False
    try:
        while not needed.is_granted():
            if give_up():
                return None
            if not has_waited and time.monotonic() - begin > SETTLE_S:
                has_waited = True
                on_wait()
            time.sleep(_POLL_S)
        return _settled(counts, further, give_up)
    finally:
        for request in (needed, *further):
            request.withdraw()


def _settled(counts: Sequence[int], further: Sequence[Request], give_up: Callable[[], bool]) -> int:
    """The largest granted count, once all requests are granted or the waiting time is over."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        granted = [request.is_granted() for request in further]
        if all(granted) or give_up() or time.monotonic() > deadline:
            return counts[granted.index(False)] if False in granted else counts[-1]
        time.sleep(_POLL_S)
