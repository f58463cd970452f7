"""The runtime environment of a submitted job: variables, the code's commit, uploaded files and their size."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vtr_core.errors import ConfigError
from vtr_core.patience import SETTINGS
from vtr_core.ray_private import STOP_WAIT, uploaded
from vtr_core.tracking.run import redact

EXCLUDES = (
    ".?*",
    "venv",
    "__pycache__",
    "*.egg-info",
    "node_modules",
    "/build",
    "/dist",
    "/data",
    "/datasets",
    "/features",
    "/shards",
    "/runs",
    "/mlruns",
    "/mlartifacts",
    "mlflow.db*",
    "*.parquet",
    "*.npy",
    "*.npz",
    "*.h5",
    "*.hdf5",
    "*.pt",
    "*.pth",
    "*.ckpt",
    "*.safetensors",
    "*.mp4",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.kdbx",
    "*.tfstate",
    "*.tfstate.*",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
)
"""Patterns, as in .gitignore, of files that are never uploaded: histories, environments, data, runs, secrets.

No name that begins with a dot is (the first pattern; .* would be the folder itself): that is where tools keep logins,
such as .git-credentials, .npmrc, .kube and .config. A leading slash stands for the uploaded folder, so that
vtr_core/data is included. No pattern ends in a slash: Ray would then traverse the whole folder.
"""
LIMIT_MB = 100
"""Limit of an upload. Code is far smaller; Ray keeps uploads in the head node's memory, and refuses 512 MiB."""
_NAMED = 5


def check_upload(folder: str, limit_mb: float = LIMIT_MB) -> None:
    """ConfigError where `folder` does not exist, where more than `limit_mb` would be uploaded, naming the largest
    folders, or where a link in it leads out of it."""
    if not Path(folder).is_dir():
        raise ConfigError(f"--working-dir {folder} is not a folder")
    root = Path(folder).resolve()
    for path in uploaded(root, EXCLUDES):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            raise ConfigError(
                f"{folder} would upload {path.relative_to(root)}, a link to {path.resolve()}, which is not in it; "
                "remove the link, or name it in .gitignore or .rayignore"
            )
    sizes = upload_sizes(folder)
    total = sum(sizes.values())
    if total > limit_mb * 1e6:
        biggest = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in sizes.most_common(_NAMED))
        raise ConfigError(
            f"{folder} would upload {total / 1e6:.0f} MB, more than {limit_mb:g} MB; biggest: {biggest}. Name what the "
            "job does not need in .gitignore or .rayignore, or give another --working-dir"
        )


def upload_sizes(folder: str, excludes: Sequence[str] = EXCLUDES) -> "Counter[str]":
    """Bytes that Ray would upload of `folder`, per folder of the first two levels."""
    root = Path(folder).absolute()
    sizes: Counter[str] = Counter()

    for path in uploaded(root, excludes):
        if path.is_file():
            inside = path.relative_to(root).parts
            sizes["/".join(inside[:-1][:2]) or inside[0]] += path.stat().st_size
    return sizes


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
class JobEnvironment:
    """A runtime environment in Ray's form, which may hold secrets, and the names of the variables that are not sent."""

    runtime_env: dict[str, Any] = field(repr=False)
    withheld: tuple[str, ...]

    @property
    def stop_wait_s(self) -> int:
        """Seconds that a stopped job has for its last checkpoint."""
        return int(self.runtime_env["env_vars"][STOP_WAIT])


def runtime_env(
    working_dir: str,
    environ: Mapping[str, str],
    git: Mapping[str, str],
    *,
    also: Sequence[str] = (),
    pass_credentials: bool = False,
) -> JobEnvironment:
    """The runtime environment of a job.

    working_dir: the folder that is uploaded, except for EXCLUDES, .gitignore and .rayignore; or the URI of an archive
    that the cluster downloads.
    environ: the variables of this machine, of which only ALLOWED, `also` (chosen by the user, must be set) and, with
    `pass_credentials`, those with secrets are sent.
    git: `git.commit` and `git.branch` of the code, which a job cannot determine.
    """
    for name in also:
        _check_chosen(name, environ)
    available = {name: environ[name] for name in (*ALLOWED, *CREDENTIALS, *also) if environ.get(name)}
    withheld = () if pass_credentials else tuple(name for name in available if is_secret(name, available[name]))
    variables = {
        **{name: value for name, value in available.items() if name not in withheld},
        STOP_WAIT: _stop_wait(environ),
        **{f"VTR_{name.replace('.', '_').upper()}": value for name, value in git.items()},
    }
    uploaded = {} if "://" in working_dir else {"excludes": list(EXCLUDES)}
    return JobEnvironment({"working_dir": working_dir, "env_vars": variables, **uploaded}, withheld)


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
