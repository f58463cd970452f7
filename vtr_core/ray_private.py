"""All that is used of Ray beside its public interface: what each name does, and what is lost without it.

A release of Ray may rename any of it without notice, so it is in this one file, which is what to read when Ray is
upgraded; tests/test_ray_private.py tries every name and keeps all other modules to Ray's public interface. To go to
another Ray, raise the bound in pyproject.toml, run that test and `make test-all`, and add the release to SEEN.

Ray is imported in the functions: whoever only needs a name does not wait for it.
"""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ray.job_config import JobConfig
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
TLS = "RAY_USE_TLS"
"""At 1, servers are spoken to with certificates. Without it they would be asked without, and count as gone."""
RECONNECT_S = "RAY_gcs_rpc_server_reconnect_timeout_s"
"""Seconds after which Ray ends a process that does not reach the head. Without it commands wait 60, Ray's default."""
LONGEST_FOLDER = 107 - len("/ray/session_2026-01-01_00-00-00_000000_1234567/sockets/plasma_store")
"""Bytes of the name of a folder for Ray's files: names of sockets, which lie below it, have 107 at most."""
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


def folder() -> str:
    """Where Ray keeps its files, below /ray: RAY_TMPDIR, TMPDIR or /tmp. Without it a name that is too long is Ray's
    traceback.
    """
    from ray._common.utils import get_default_system_temp_dir

    return get_default_system_temp_dir()


def imports_alone(folders: Sequence[str]) -> "JobConfig":
    """A job whose workers import from these folders as well, and not first of all from the working directory.

    Without it a file profile.py beside the user takes the place of Python's in every worker.
    """
    from ray.job_config import JobConfig

    return JobConfig(_client_job=True, _py_driver_sys_path=list(folders))


_ANSWER_S = 5.0
"""Within which a server of Ray's answers."""


def head_fault(address: str) -> str | None:
    """Why what listens at host:port is no head of a cluster that takes this process; None where it is one.

    Without it a wrong address is a quarter of an hour of warnings.
    """
    import grpc
    import ray

    if _is_encrypted():
        return None
    try:
        theirs = _ask_version(address)
    except grpc.RpcError as error:
        match error.code():
            case grpc.StatusCode.UNAUTHENTICATED:
                return "it asks for another token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
            case grpc.StatusCode.DEADLINE_EXCEEDED:
                return f"it does not answer within {_ANSWER_S:g} s"
            case grpc.StatusCode.UNAVAILABLE:
                return f"nothing of Ray's answers: {(error.details() or '').rpartition(': ')[2].rstrip(']')}"
            case grpc.StatusCode.UNIMPLEMENTED:
                return "another server answers, not the head of a cluster"
            case code:
                return f"{code.name}: {error.details()}"
    except ray.exceptions.AuthenticationError as error:  # a file of a token that is not there
        return str(error)
    return None if theirs == ray.__version__ else f"it runs Ray {theirs}, this machine {ray.__version__}"


def is_gone(address: str) -> bool:
    """Whether no server of Ray's, the head or a node's, listens at host:port. Without it losses are waited for."""
    import grpc
    import ray

    if _is_encrypted():
        return False
    try:
        _ask_version(address)
    except grpc.RpcError as error:
        return bool(error.code() == grpc.StatusCode.UNAVAILABLE)
    except ray.exceptions.AuthenticationError:
        pass
    return False


def _is_encrypted() -> bool:
    return os.environ.get(TLS, "0").lower() in ("1", "true")


def _ask_version(address: str) -> str:
    """The Ray of the head at host:port; grpc.RpcError, whose code says why, where there is none."""
    import grpc
    from ray._private.authentication.http_token_authentication import get_auth_headers_if_auth_enabled
    from ray.core.generated import gcs_service_pb2

    messages: Any = gcs_service_pb2  # whose names are made when it is imported
    token = [(name.lower(), value) for name, value in get_auth_headers_if_auth_enabled({}).items()]
    with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
        ask = channel.unary_unary(
            "/ray.rpc.NodeInfoGcsService/CheckAlive",
            messages.CheckAliveRequest.SerializeToString,
            messages.CheckAliveReply.FromString,
        )
        return str(ask(messages.CheckAliveRequest(), timeout=_ANSWER_S, metadata=token).ray_version)


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
