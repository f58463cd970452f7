"""A run on a cluster as Ray's metrics, which every node offers to Prometheus on its metrics port.

`cluster/monitoring/vtr.json` is a dashboard of them.
"""

from vtr_core.train.loop.context import Report


class RunGauges:
    """The newest point of a run and the events counted so far, labelled by the run's folder and its preset.

    - `vtr_metric{metric="train/loss"}`: the newest value of each logged number, in its own unit
    - `vtr_step`, `vtr_total_steps`: optimizer steps done, and those of the whole run
    - `vtr_events{event="worker_lost"}`: how often something happened since the driver began

    Ray prefixes these names by `ray_` where it exports them.
    """

    def __init__(self, run: str, preset: str) -> None:
        """Gauges of the run in folder `run`, with the labels `run` and `preset`; Ray must be connected."""
        from ray.util.metrics import Counter, Gauge

        labels = ("run", "preset")
        self._labels = {"run": run, "preset": preset}
        self._metric = Gauge("vtr_metric", "Newest value of a logged number.", (*labels, "metric"))
        self._step = Gauge("vtr_step", "Optimizer steps done.", labels)
        self._total = Gauge("vtr_total_steps", "Optimizer steps of the whole run.", labels)
        self._events = Counter("vtr_events", "Events of a run, such as lost workers.", (*labels, "event"))

    def add(self, report: Report) -> None:
        """Take over a point or an event."""
        if "event" in report:
            self._events.inc(1.0, {**self._labels, "event": str(report["event"])})
            return
        values = dict(report)
        self._step.set(float(values.pop("step")), self._labels)
        self._total.set(float(values.pop("total_steps")), self._labels)
        for name, value in values.items():
            self._metric.set(float(value), {**self._labels, "metric": name})
