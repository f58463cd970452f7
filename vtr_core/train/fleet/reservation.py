"""Reservation of resources for workers, by Ray placement groups."""

import time
from collections.abc import Callable, Mapping, Sequence

from ray.util import placement_group, placement_group_table, remove_placement_group
from ray.util.placement_group import PlacementGroup

from vtr_core.config.scaling import ScalingConfig
from vtr_core.train.fleet.placement import Placement, Selector

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


def reading_bundles(cpus: float) -> list[Bundle]:
    """`cpus` in bundles of one CPU, as reading tasks take them, and the remainder."""
    whole = int(cpus)
    return [{"CPU": 1.0}] * whole + ([{"CPU": cpus - whole}] if cpus > whole else [])


def increments(counts: Sequence[int]) -> list[int]:
    """Workers to add from each of the ascending counts to the next, starting from 0."""
    return [after - before for before, after in zip((0, *counts), counts, strict=False)]


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
    reading = [(bundle, placed.reading) for bundle in reading_bundles(scaling.reading_cpus)]
    fewest, *more = increments(counts)
    needed = Request([worker] * fewest + reading)
    further = [Request([worker] * added) for added in more]
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
