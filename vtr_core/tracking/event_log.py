"""Events of a run in `events.jsonl`: starts, restarts, lost workers, skipped steps."""

import logging
import time
from collections import Counter
from typing import Any

from vtr_core.storage import Location, StorageError
from vtr_core.tracking.json_lines import JsonLines

logger = logging.getLogger(__name__)


class EventLog:
    """Appends events to the file, which a resumed run continues, and counts those of this process by name.

    One JSON object a line: {"time": unix seconds, "event": name, …details}. Written by the driver alone. A failed write
    delays the file, not the run.
    """

    def __init__(self, location: Location) -> None:
        self._location = location
        self._lines = JsonLines(location)
        self.counts: Counter[str] = Counter()

    def add(self, event: str, **details: Any) -> None:
        """Log that `event` happened now."""
        self.counts[event] += 1
        self._lines.append({"time": time.time(), "event": event, **details})
        self.publish()

    def publish(self) -> None:
        """Write pending events."""
        try:
            self._lines.publish()
        except (OSError, StorageError) as error:
            logger.warning("%s cannot be written (%s); its events are kept and written later", self._location, error)

    def read(self) -> list[dict[str, Any]]:
        """All events of the run so far, oldest first."""
        return self._lines.read()
