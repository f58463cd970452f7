"""Following a submitted job: its log, Ctrl-C, and its exit code."""

import asyncio
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vtr_core.errors import ClusterError, one_line
from vtr_core.patience import RAY

if TYPE_CHECKING:
    from ray.job_submission import JobDetails, JobSubmissionClient

LEFT = 130
"""Exit code where the user stopped following and the job continues."""
_STOPPED = 143
"""Exit code of a stopped job: Ray sends SIGTERM and reports no code."""
_PAUSE_S = 2.0


@dataclass(frozen=True)
class SubmittedJob:
    """A job, its client, and the seconds for its last checkpoint when it is stopped."""

    client: "JobSubmissionClient"
    submission_id: str
    stop_wait_s: int

    def hints(self) -> str:
        """The commands that follow and stop the job."""
        where = f"--address {self.client.get_address()}"
        return (
            f"follow it   ray job logs --follow {where} {self.submission_id}\n"
            f"stop it     ray job stop {where} {self.submission_id}"
        )


class JobFollower:
    """Prints a job's log until the job ends.

    Ctrl-C asks whether to stop the job; with `stop_without_asking` it stops the job. Where stdin is no terminal, the
    job continues and is left. A second Ctrl-C leaves at once.
    """

    def __init__(self, job: SubmittedJob, stop_without_asking: bool = False) -> None:
        self._job, self._stop_without_asking = job, stop_without_asking
        self._shown, self._stopping = 0, False

    def follow(self) -> int:
        """Follow the job; returns its exit code, 143 for a stopped job, 130 for a job that was left running."""
        while True:
            try:
                return self._until_end()
            except KeyboardInterrupt:
                if not self._goes_on():
                    print(f"\njob {self._job.submission_id} goes on without being watched\n{self._job.hints()}")
                    return LEFT

    def _until_end(self) -> int:
        patience_s, failures = RAY.seconds(), 0
        while True:
            before = self._shown
            try:
                asyncio.run(self._print_log())
                details = self._job.client.get_job_info(self._job.submission_id)
            except BrokenPipeError:  # our own output is closed
                raise
            except _lost_contact() as error:
                failures = failures + 1 if self._shown == before else 1
                if failures * _PAUSE_S >= patience_s:
                    raise ClusterError(
                        f"lost contact with job {self._job.submission_id}, which may go on ({error}); "
                        + self._job.hints().replace("\n", ", ")
                    ) from None
            else:
                if details.status.is_terminal():
                    return self._report(details)
            time.sleep(_PAUSE_S)

    async def _print_log(self) -> None:
        """Print the new part of the log; the server always sends all of it."""
        position = 0
        async for chunk in self._job.client.tail_job_logs(self._job.submission_id):
            fresh = chunk[max(0, self._shown - position) :]
            position += len(chunk)
            self._shown = max(self._shown, position)
            print(fresh, end="", flush=True)

    def _goes_on(self) -> bool:
        """Stop the job if the user agrees; returns whether to continue following it."""
        if self._stopping or not (self._stop_without_asking or self._agrees()):
            return False
        self._stopping = True
        print(
            f"\nstopping job {self._job.submission_id}, which may write a checkpoint first "
            f"(at most {self._job.stop_wait_s} s); Ctrl-C again leaves at once",
            flush=True,
        )
        try:
            self._job.client.stop_job(self._job.submission_id)
        except KeyboardInterrupt:
            return False
        except _lost_contact() as error:
            raise ClusterError(f"job {self._job.submission_id} could not be stopped: {error}") from None
        return True

    def _agrees(self) -> bool:
        if not sys.stdin.isatty():
            return False
        try:
            return input("\nstop the job? [y/N] ").strip().lower() in ("y", "yes")
        except (KeyboardInterrupt, EOFError):
            return False

    def _report(self, details: "JobDetails") -> int:
        """Print how the job ended; returns the exit code."""
        name = f"job {self._job.submission_id}"
        if details.status.value == "SUCCEEDED":
            print(f"{name} succeeded")
            return 0
        if details.status.value == "STOPPED":
            print(f"{name} was stopped", file=sys.stderr)
            return _STOPPED
        code = exit_code(details.driver_exit_code)
        reason = "" if details.driver_exit_code is not None else f": {one_line(details.message or '')}"
        print(f"{name} failed with exit code {code}{reason}", file=sys.stderr)
        return code


def exit_code(code: int | None) -> int:
    """The exit code of a failed job: its own, 128 + the signal number where a signal ended it, 1 where it never ran."""
    if code is None:
        return 1
    return 128 - code if code < 0 else code


def _lost_contact() -> tuple[type[Exception], ...]:
    """The exceptions of Ray's client when the server cannot be reached."""
    import aiohttp
    import requests

    return (aiohttp.ClientError, requests.RequestException, OSError, RuntimeError)
