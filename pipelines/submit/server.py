"""The job server of a Ray cluster: address, authentication, version, and whether it is on this machine."""

import os
import socket
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from vtr_core import ray_private
from vtr_core.errors import ClusterError, ConfigError
from vtr_core.patience import RAY

if TYPE_CHECKING:
    from ray.job_submission import JobSubmissionClient

DEFAULT = "http://127.0.0.1:8265"
_VARIABLES = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")
_TIMEOUT_S = (10.0, 60.0)
_PAUSE_S = 0.5


def address(given: str | None, environ: Mapping[str, str]) -> str:
    """The server's URL: as given, else RAY_API_SERVER_ADDRESS, RAY_ADDRESS, the default of `ray start --head`.

    RAY_ADDRESS may also be the address of `ray start` (host:6379, auto), whose cluster reports the URL.
    """
    chosen = given or next((environ[name] for name in _VARIABLES if environ.get(name)), DEFAULT)
    if chosen.startswith(("http://", "https://")):
        return chosen.rstrip("/")
    if given:
        raise ConfigError(f"--address {given} is not the URL of a Ray dashboard, such as {DEFAULT}")
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
