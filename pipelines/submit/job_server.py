"""The job server of a Ray cluster: its address and version, code and job sent to it, the job followed."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from vtr_core import ray_private
from vtr_core.errors import ClusterError, ConfigError, one_line
from vtr_core.limits import RAY

if TYPE_CHECKING:
    from ray.job_submission import JobDetails, JobSubmissionClient


DEFAULT = "http://127.0.0.1:8265"
_VARIABLES = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")
_TIMEOUT_S = (10.0, 60.0)
_PAUSE_S = 1.0
"""Between requests that are repeated."""


def address(chosen_url: str | None, environ: Mapping[str, str]) -> str:
    """The server's URL: as given, else RAY_API_SERVER_ADDRESS, RAY_ADDRESS, the default of `ray start --head`.

    RAY_ADDRESS may also be the address of `ray start` (host:6379, auto), whose cluster reports the URL.
    """
    chosen = chosen_url or next((environ[name] for name in _VARIABLES if environ.get(name)), DEFAULT)
    if chosen.startswith(("http://", "https://")):
        return chosen.rstrip("/")
    if chosen_url:
        raise ConfigError(f"--address {chosen_url} is not the URL of a Ray dashboard, such as {DEFAULT}")
    head = ray_private.started_last() if chosen == "auto" else chosen
    if head and ray_private.is_gone(head):  # Ray would ask for minutes
        raise ClusterError(f"no Ray cluster answers at RAY_ADDRESS={chosen}; start one, or give --address URL")
    try:
        return ray_private.dashboard_url(chosen)
    except Exception as error:  # Ray raises many kinds here
        raise ClusterError(f"no Ray cluster answers at RAY_ADDRESS={chosen} ({error}); give --address URL") from None


def connect(url: str) -> "JobSubmissionClient":
    """A client of the server, after checks that it answers, accepts the token and has the same version of Ray."""
    from ray.exceptions import AuthenticationError
    from ray.job_submission import JobSubmissionClient

    ray_private.only_errors(ray_private.TALKATIVE_IN_JOBS)
    _check_answers(url)
    _use_token(url)
    os.environ[_VARIABLES[0]] = url  # in Ray the environment overrides arguments
    try:
        client = JobSubmissionClient(url)
    except AuthenticationError as error:
        raise ClusterError(_refusal(url, str(error))) from None
    except (RuntimeError, OSError, ValueError) as error:
        raise ClusterError(f"{url} does not take Ray jobs: {error}") from None
    _check_version(url, client)
    return client


def is_this_machine(client: "JobSubmissionClient") -> bool:
    """Whether every living node is on this machine, by host name, and so shares its files.

    The address is no evidence, as any cluster answers at 127.0.0.1 through a forwarded port. A new cluster accepts jobs
    before it lists its nodes, so requests are repeated for up to VTR_RAY_PATIENCE_S seconds; without a list the
    cluster counts as remote.
    """
    deadline = time.monotonic() + RAY.seconds()
    while not (names := _host_names(client)) and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)
    return names == {socket.gethostname()}


def _host_names(client: "JobSubmissionClient") -> set[str]:
    try:
        return ray_private.host_names(client)
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _check_answers(url: str) -> None:
    """ClusterError, within seconds, where nothing answers; Ray's own client would wait for minutes."""
    import requests

    try:
        answer = requests.get(f"{url}/api/version", timeout=_TIMEOUT_S)
    except (requests.RequestException, ValueError) as error:
        raise ClusterError(
            f"no Ray cluster answers at {url} ({type(error).__name__}); start one with ray start --head, or name "
            "it with --address URL or RAY_API_SERVER_ADDRESS"
        ) from None
    if answer.status_code not in (200, 401, 403):
        raise ClusterError(f"what answers at {url} is not a Ray dashboard (status {answer.status_code})")


def _use_token(url: str) -> None:
    """Send the token of the environment or of ~/.ray, unless RAY_AUTH_MODE decides.

    That of ~/.ray is sent to this machine only, as it may belong to another cluster.
    """
    named = any(os.environ.get(name) for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    if named or urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1"):
        from ray.exceptions import AuthenticationError

        try:
            ray_private.send_known_token()
        except AuthenticationError as error:
            raise ClusterError(_refusal(url, str(error))) from None


def _refusal(url: str, reason: str) -> str:
    """The error message for a missing or wrong token; `reason` is Ray's message, which never quotes the token."""
    how = "set RAY_AUTH_MODE=token, and the cluster's token in RAY_AUTH_TOKEN, a file named by RAY_AUTH_TOKEN_PATH, or"
    if "cannot be opened" in reason:
        return f"RAY_AUTH_TOKEN_PATH={os.environ.get('RAY_AUTH_TOKEN_PATH')} cannot be read or is empty"
    if "invalid" in reason.lower():
        return f"the cluster at {url} does not accept this token; {how} ~/.ray/auth_token"
    return f"the cluster at {url} asks for a token; {how} ~/.ray/auth_token"


def _check_version(url: str, client: "JobSubmissionClient") -> None:
    """ClusterError where the minor versions of Ray differ, which is untested."""
    import ray

    theirs, ours = ray_private.server_version(client), ray.__version__
    if ray_private.release(theirs) != ray_private.release(ours):
        known = ray_private.release(theirs) in ray_private.SEEN
        where, which = ("on this machine", theirs) if known else ("on every node", ours)
        raise ClusterError(
            f"the cluster at {url} runs Ray {theirs}, this machine {ours}; install the same on both: "
            f"pip install 'ray[default]=={which}' {where}"
        )


LEFT = 130
"""Exit code where the user stopped following and the job continues."""
_STOPPED = 143
"""Exit code of a stopped job: Ray sends SIGTERM and reports no code."""


@dataclass(frozen=True)
class SubmittedJob:
    """A job, its client, and the seconds for its last checkpoint when it is stopped."""

    client: "JobSubmissionClient"
    submission_id: str
    stop_wait_s: int

    def hints(self) -> str:
        """The commands that follow and stop the job."""
        where = f"--address {quote(self.client.get_address())}"
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
    import aiohttp
    import requests

    return (aiohttp.ClientError, requests.RequestException, OSError, RuntimeError)


_NOT_YET = "No available agent to submit job"
"""Ray's answer while the head node's agent, which starts jobs, does not run; the head answers other requests before."""


def send(job: SubmittedJob, entrypoint: str, runtime_env: Mapping[str, Any]) -> None:
    """Submit `entrypoint` as the job, with code and variables by `runtime_env`.

    The request is repeated for up to VTR_RAY_PATIENCE_S seconds while the cluster has no agent for it. Raises
    ConfigError where the submission id is taken, ClusterError with the reason of any other failure.
    """
    variables = runtime_env["env_vars"]
    deadline = time.monotonic() + RAY.seconds()
    while True:
        try:
            job.client.submit_job(
                entrypoint=entrypoint,
                submission_id=job.submission_id,
                runtime_env=dict(runtime_env),
                metadata={name: variables[name] for name in ("VTR_GIT_COMMIT", "VTR_GIT_BRANCH") if name in variables},
            )
            return
        except (RuntimeError, OSError, ValueError) as error:
            if "already exists" in str(error):
                raise ConfigError(
                    f"there is a job {job.submission_id} on this cluster; give another --submission-id"
                ) from None
            if _NOT_YET not in str(error) or time.monotonic() >= deadline:
                raise ClusterError(f"the job was not submitted: {error}") from None
        time.sleep(_PAUSE_S)
