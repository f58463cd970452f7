"""Starts a run as its configuration says: on Ray's workers, or in this process."""

from collections.abc import Callable

from vtr_core.train.job import Job
from vtr_core.train.loop.context import Report


def fit(job: Job, on_report: Callable[[Report], None], should_stop: Callable[[], bool] = lambda: False) -> None:
    """Run `job` to its end, or to its pause: on `scaling.workers` of the connected Ray cluster; with 0 in this process.

    `on_report` gets every logged point and event, in the driver. A VtrError in a worker, which is due to the user's
    input, ends the run at once. Ctrl-C or SIGTERM ends it after a checkpoint, with Interrupted. So does `should_stop`,
    but without an error.
    """
    if job.config.scaling.workers == 0:
        from vtr_core.train.loop.in_process import fit_in_process

        fit_in_process(job, on_report, should_stop)
    else:
        from vtr_core.train.trainer import fit_on_cluster

        fit_on_cluster(job, on_report, should_stop)
