"""The environment variables of a submitted job: which ones of this machine, and the commit of its code."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vtr_core.errors import ConfigError
from vtr_core.limits import SETTINGS
from vtr_core.ray_private import STOP_WAIT
from vtr_core.tracking.run import redact

ALLOWED = (
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_REQUEST_CHECKSUM_CALCULATION",
    "AWS_RESPONSE_CHECKSUM_VALIDATION",
    *(setting.variable for setting in SETTINGS),
    "MLFLOW_TRACKING_URI",
    "MLFLOW_S3_ENDPOINT_URL",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES",
    "MLFLOW_HTTP_REQUEST_TIMEOUT",
)
"""Variables that are sent if set, unless a value is secret. Names of local files (AWS_PROFILE) are not included."""
CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "MLFLOW_TRACKING_USERNAME",
    "MLFLOW_TRACKING_PASSWORD",
    "MLFLOW_TRACKING_TOKEN",
)
"""Variables that are sent only on request."""
STOP_WAIT_S = 120
"""Seconds between SIGTERM and SIGKILL, in which a stopped run writes a checkpoint. Ray's default is 3."""
_NEVER = re.compile(r"(?i)RAY_AUTH")
_SECRET_NAME = re.compile(r"(?i)secret|passw|token|credential|api_?key|access_?key|private_?key")


@dataclass(frozen=True)
class JobVariables:
    """The environment variables of a job, which may hold secrets, and the names of those that are not sent."""

    sent: Mapping[str, str] = field(repr=False)
    withheld: tuple[str, ...]

    @property
    def stop_wait_s(self) -> int:
        """Seconds that a stopped job has for its last checkpoint."""
        return int(self.sent[STOP_WAIT])


def job_variables(
    environ: Mapping[str, str], git: Mapping[str, str], also: Sequence[str] = (), pass_credentials: bool = False
) -> JobVariables:
    """The variables of a job.

    environ: the variables of this machine, of which only ALLOWED, `also` (chosen by the user, must be set) and, with
    `pass_credentials`, those with secrets are sent.
    git: `git.commit` and `git.branch` of the code, which a job cannot determine.
    """
    for name in also:
        _check_chosen(name, environ)
    available = {name: environ[name] for name in (*ALLOWED, *CREDENTIALS, *also) if environ.get(name)}
    withheld = () if pass_credentials else tuple(name for name in available if is_secret(name, available[name]))
    sent = {
        **{name: value for name, value in available.items() if name not in withheld},
        STOP_WAIT: _stop_wait(environ),
        **{f"VTR_{name.replace('.', '_').upper()}": value for name, value in git.items()},
    }
    return JobVariables(sent, withheld)


def is_secret(name: str, value: str) -> bool:
    """Whether a variable's name denotes a secret, or its value is a URI with a password, token or signature."""
    return name in CREDENTIALS or bool(_SECRET_NAME.search(name)) or redact(value) != value


def _check_chosen(name: str, environ: Mapping[str, str]) -> None:
    if _NEVER.match(name):
        raise ConfigError(f"{name} is never sent: nodes have the cluster's token, or the cluster asks for none")
    if "=" in name:
        raise ConfigError("--env takes names of variables that are set here, not values")
    if not environ.get(name):
        raise ConfigError(f"--env {name}: this variable is not set here")


def _stop_wait(environ: Mapping[str, str]) -> str:
    text = environ.get(STOP_WAIT) or str(STOP_WAIT_S)
    if not text.isdecimal():
        raise ConfigError(f"{STOP_WAIT} is {text!r}; it must be a whole number of seconds")
    return text
