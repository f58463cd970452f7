"""What a running training prints: a line for each logged point, validation and event."""

from typing import Any

from pipelines.train.events import event_line
from vtr_core.tracking.event_log import EventLog
from vtr_core.train.fleet.lease import Lease
from vtr_core.train.tracked import Tracking


class Reports:
    """Prints one line for each logged point and each event of a run, and stores the events."""

    def __init__(self, events: EventLog, tracking: Tracking, lease: Lease) -> None:
        self._events, self._tracking, self._lease = events, tracking, lease

    def take(self, report: dict[str, Any]) -> None:
        """Print a report: an event where it has the key "event", else a logged point."""
        self._lease.check()
        if "event" in report:
            self._take_event(dict(report))
        else:
            print(_point_line(report), flush=True)

    def _take_event(self, details: dict[str, Any]) -> None:
        event = details.pop("event")
        self._events.add(event, **details)
        if event == "finished" and details["metrics_sent"]:
            self._tracking.workers_sent_all()
        print(f"  {event_line(event, details)}", flush=True)


def _point_line(report: dict[str, Any]) -> str:
    """The line of a training point, a validation, or a skipped step."""
    place = f"  step {report['step']:>6}/{report['total_steps']}"
    if "train/loss" in report:
        return (
            f"{place}  epoch {report['train/epoch']:5.2f}  loss {report['train/loss']:8.4f}  "
            f"{report['train/samples_per_s']:8.0f} clips/s  waiting for data {report['train/data_wait']:4.0%}"
        )
    values = {name: value for name, value in report.items() if name.startswith("val/")}
    if not values:
        return f"{place}  skipped"
    shown = "  ".join(
        f"{name[4:]} {value:.{3 if name in _OF_PAIRS else 1}f}" for name, value in values.items() if _is_shown(name)
    )
    return f"{place}  validation  {shown}"


_OF_PAIRS = ("val/accuracy", "val/accuracy_at_margin", "val/auc", "val/eer")


def _is_shown(name: str) -> bool:
    ends = ("t2v/r1", "t2v/r5", "t2v/r10", "t2v/medr", "t2va/r10", "/cider", "/bleu4", "/rouge_l")
    return name.endswith(ends) or name in _OF_PAIRS
