"""Sends the points of a run's metrics.jsonl to another tracker, in a thread of its own."""

import logging
import threading
from collections.abc import Sequence

from vtr_core.config.trackers import TrackerKind
from vtr_core.patience import TRACKER
from vtr_core.storage import Location
from vtr_core.tracking.also.run_page import RunPage
from vtr_core.tracking.also.tracker import open_tracker
from vtr_core.tracking.json_lines import read_lines
from vtr_core.tracking.redaction import redact
from vtr_core.tracking.run import Status
from vtr_core.tracking.sending import PointSender

logger = logging.getLogger(__name__)
SEND_EVERY_S = 10.0


class Followers:
    """The other trackers of one run, from its start to its end. A failing one costs its curves, never the run."""

    def __init__(self, kinds: Sequence[TrackerKind], page: RunPage) -> None:
        self._patience_s = TRACKER.seconds()
        self._followers = [_Follower(kind, page) for kind in kinds]

    def begin(self) -> None:
        """Open the trackers, in the background."""
        for follower in self._followers:
            follower.thread.start()

    def end(self, status: Status) -> None:
        """Send what is missing and close the trackers, waiting at most VTR_TRACKER_PATIENCE_S for each."""
        for follower in self._followers:
            follower.status = status
            follower.ending.set()
        for follower in self._followers:
            follower.thread.join(self._patience_s)
            if follower.thread.is_alive():
                what = follower.kind, self._patience_s, TRACKER.variable
                logger.warning("%s did not take everything in %g s (%s)", *what)


class _Follower:
    def __init__(self, kind: TrackerKind, page: RunPage) -> None:
        self.kind, self._page = kind, page
        self._metrics: Location = page.folder / "metrics.jsonl"
        self.ending = threading.Event()
        self.status: Status = "FAILED"
        self.thread = threading.Thread(target=self._follow, name=kind, daemon=True)

    def _follow(self) -> None:
        try:
            tracker = open_tracker(self.kind, self._page)
            sender = PointSender(tracker)
            while not self.ending.wait(SEND_EVERY_S):
                self._send(sender)
            sender.send(read_lines(self._metrics))
            tracker.finish(self.status)
        except Exception as error:  # a service may raise anything; the run must not end for it
            logger.warning("%s did not take everything: %s", self.kind, redact(" ".join(str(error).split()))[:300])

    def _send(self, sender: PointSender) -> None:
        try:
            sender.send(read_lines(self._metrics))
        except Exception as error:  # tried again, and reported at the end
            logger.info("%s did not take the points yet: %s", self.kind, redact(str(error)))
