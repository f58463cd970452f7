"""All that is used of Ray beside its public interface: what each name does, and what is lost without it.

A release of Ray may rename any of it without notice, so it is in this one file, which is what to read when Ray is
upgraded; tests/test_ray_private.py tries every name and keeps all other modules to Ray's public interface. To go to
another Ray, raise the bound in pyproject.toml, run that test and `make test-all`, and add the release to SEEN.

Ray is imported in the functions: whoever only needs a name does not wait for it.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ray.job_submission import JobSubmissionClient

SEEN = ("2.60",)
"""The releases of Ray, without their patches, that the tests passed with."""


def release(version: str) -> str:
    """The release of a version: 2.60 of 2.60.1. Patches rename nothing."""
    return ".".join(version.split(".")[:2])


# Variables of the environment, resources, programs.

KEEP_DEVICES = "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"
"""At 0, what takes no GPU finds CUDA_VISIBLE_DEVICES as it was. Else Ray empties it, and warns that it will not."""
STOP_WAIT = "RAY_JOB_STOP_WAIT_TIME_S"
"""Seconds between SIGTERM and SIGKILL of a job that is stopped. Without it 3, too few for a last checkpoint."""
HEAD = "node:__internal_head__"
"""A resource of every cluster's head, 1 in all. Without it sweeps find no place for what starts a trial."""
NO_PRESTART = MappingProxyType({"RAY_enable_worker_prestart": "0", "RAY_prestart_worker_first_driver": "0"})
"""Nodes start no processes in advance. Without them many nodes on one machine take its memory and time."""
KEEP_IDLE = MappingProxyType({"RAY_idle_worker_killing_time_threshold_ms": "60000"})
"""Nodes keep idle processes for a minute. Without it those beyond one per CPU end after a second, also the processes
that read batches while training has enough of them; starting one takes seconds of a processor.
"""
SYNC_WARNING = "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S"
"""At 0, Tune does not warn of saving its own state often. Without it sweeps print a warning that means nothing."""
JOB_CONFIG = "RAY_JOB_CONFIG_JSON_ENV_VAR"
"""Set in the processes of a submitted job. Without it runs are not tagged with their job."""


def submission_id(environ: Mapping[str, str]) -> str | None:
    """The id of the submitted job that this process is the driver of, if it is. Without it runs are not tagged so."""
    try:
        return str(json.loads(environ[JOB_CONFIG])["metadata"]["job_submission_id"])
    except (ValueError, KeyError, TypeError):
        return None


# Loggers, each named after its module. Where one is renamed, its remarks are printed again.

TALKATIVE_AT_START = ("ray._private.authentication",)
TALKATIVE_IN_JOBS = (
    *TALKATIVE_AT_START,
    "ray.dashboard.modules.dashboard_sdk",
    "ray.dashboard.modules.job.sdk",
    "ray._private.runtime_env.working_dir",
)
TALKATIVE_IN_SWEEPS = ("ray.tune.analysis.experiment_analysis", "ray.tune.tune", "ray.tune.utils.util")


def only_errors(names: Sequence[str]) -> None:
    """Set these loggers to errors only."""
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)


def quiet_data() -> None:
    """Keep the remarks of Ray Data, which must be imported, in its log file, errors apart."""
    from ray._private.log import PlainRayHandler

    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, PlainRayHandler):
            handler.setLevel(logging.ERROR)


# The connected cluster.


def started_last() -> str | None:
    """host:port of the cluster that `ray start` began or joined last on this machine, which may be gone; None without.

    `ray.init` takes it where no address is given. Without it commands wait for a cluster that is gone.
    """
    from ray._private.services import find_bootstrap_address

    return find_bootstrap_address(None) or None


def forget(address: str) -> None:
    """Make `started_last` forget the cluster at host:port, as `ray stop` does. Without it commands say it is gone."""
    from ray._common.utils import reset_ray_address

    if started_last() == address:
        reset_ray_address()


def draining_nodes() -> set[str]:
    """The nodes, by Ray's identifiers, that will be taken away. Without it no notice is seen before a node is lost."""
    import ray._private.state as state

    return set(state.state.get_draining_nodes())


def autoscaler_limits() -> Mapping[str, float] | None:
    """What the cluster can grow to, by resource; None where it cannot. Without it runs that need growth are refused."""
    import ray._private.state as state

    return state.state.get_max_resources_from_cluster_config()


# Tokens.


def read_token_settings() -> None:
    """Read RAY_AUTH_MODE and RAY_AUTH_TOKEN again, which Ray has read at its import.

    Without it a cluster of a command's own would take work from everyone who reaches the machine.
    """
    from ray._raylet import AuthenticationTokenLoader, Config  # type: ignore[attr-defined]

    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()


def send_known_token() -> None:
    """Send the token that a variable or ~/.ray names, if one does, unless RAY_AUTH_MODE says otherwise.

    Raises ray.exceptions.AuthenticationError where it cannot be read. Without it RAY_AUTH_MODE has to be set by hand.
    """
    from ray._private.authentication.authentication_token_setup import maybe_enable_token_auth_if_token_available

    maybe_enable_token_auth_if_token_available(warn_if_disabled=False)


# Submitted jobs.


def dashboard_url(address: str) -> str:
    """The URL of the dashboard of the cluster at `address` (host:port, auto). Raises many kinds of errors.

    Without it RAY_ADDRESS does not tell vtr submit where to go, and --address is needed.
    """
    from ray.dashboard.utils import ray_address_to_api_server_url

    return ray_address_to_api_server_url(address)


def server_version(client: "JobSubmissionClient") -> str:
    """The Ray of the cluster that a client has asked. Without it a cluster of another Ray is noticed by its faults."""
    return str(client._server_ray_version)


def host_names(client: "JobSubmissionClient") -> set[str]:
    """Those of the cluster's living nodes. Without it this machine's cluster is treated as another's.

    Raises OSError, ValueError, KeyError or TypeError where the cluster does not tell.
    """
    return set(client._do_request("GET", "/nodes?view=hostNameList").json()["data"]["hostNameList"])


# Workers, trials, objects.


def failed_health_check() -> type[Exception]:
    """What Ray Train says of a worker that answers no more. Without it such a loss would end the run."""
    from ray.train.v2._internal.exceptions import WorkerHealthCheckFailedError

    return WorkerHealthCheckFailedError


def object_store_bytes(memory: int) -> int:
    """What Ray takes for objects of a machine's free memory unless it is told. Without it `vtr doctor` cannot say."""
    from ray._private import utils

    return utils.resolve_object_store_memory(memory)
