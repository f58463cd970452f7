"""Watches the cluster while a group trains: asks it to save and end before a node is preempted, or to add workers."""

import logging
import threading
import time
from types import TracebackType

from ray.exceptions import RayError

from vtr_core import ray_private
from vtr_core.config.scaling import ScalingConfig
from vtr_core.train.fleet.placement import Placement, room
from vtr_core.train.fleet.reservation import Request, worker_bundle
from vtr_core.train.loop.channel import Channel, Group
from vtr_core.train.loop.context import Reason

logger = logging.getLogger(__name__)
_POLL_S = 1.0


class Growth:
    """When a group may be ended to restart with more workers: `interval_s` after it has begun.

    The interval doubles each time such a restart brings no more workers, because others took the resources.
    """

    def __init__(self, interval_s: float) -> None:
        self._first_s = self._interval_s = interval_s
        self._before: int | None = None

    def interval(self, workers: int, resized: bool) -> float:
        """Seconds for a group of `workers`; `resized`: the previous group was ended to grow."""
        failed = resized and self._before is not None and workers <= self._before
        self._interval_s = 2 * self._interval_s if failed else self._first_s
        self._before = workers
        return self._interval_s


class GroupWatch:
    """A context manager around one group of `workers` workers; `larger` is the next possible count, if any.

    grow_after_s: the group is not ended to add workers sooner than this after it has begun.
    """

    def __init__(
        self,
        channel: Channel,
        scaling: ScalingConfig,
        gpu: bool,
        placed: Placement,
        workers: int,
        larger: int | None,
        grow_after_s: float,
    ) -> None:
        self._channel, self._scaling, self._gpu, self._placed = channel, scaling, gpu, placed
        self._workers, self._larger, self._grow_after_s = workers, larger, grow_after_s
        self.asked: Reason | None = None
        """Why the group was asked to end, if it was."""
        self._began: float | None = None
        self._request: Request | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="group-watch", daemon=True)

    def __enter__(self) -> "GroupWatch":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        try:
            while self.asked is None and not self._ended.wait(_POLL_S):
                self.asked = self._reason_to_end(self._channel.group())
            if self.asked is not None:
                self._channel.request_stop(self.asked)
        except RayError as error:
            logger.warning("the cluster is no longer watched for this group of workers (%s)", error)
        finally:
            self._withdraw()

    def _reason_to_end(self, group: Group) -> Reason | None:
        if group.nodes & ray_private.draining_nodes():  # a spot machine's notice, `ray drain-node`
            return "preempted"
        if group.has_begun and self._began is None:
            self._began = time.monotonic()
        may_grow = self._began is not None and time.monotonic() - self._began > self._grow_after_s
        if self._larger is not None and may_grow and self._has_room():
            self._withdraw()  # before the group is asked to stop: it may need these CPUs for its last batch
            return "resized"
        return None

    def _has_room(self) -> bool:
        """Whether Ray has granted resources for `larger` workers; the first call requests them."""
        assert self._larger is not None
        if not room(self._placed).holds(self._scaling, self._larger):
            return False
        if self._request is None:
            worker = (worker_bundle(self._scaling, self._gpu), self._placed.workers)
            self._request = Request([worker] * (self._larger - self._workers))
        return self._request.is_granted()

    def _withdraw(self) -> None:
        if self._request is not None:
            self._request.withdraw()
            self._request = None
