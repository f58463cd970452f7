"""Ray's private names are those of the installed Ray, do what they are used for, and are used in one module alone."""

import ast
import importlib.util
import inspect
import logging
import mmap
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module, metadata
from pathlib import Path

import pytest
import ray

from tests.local_cluster import ray_state
from tests.local_cluster.ray_start import QUICK_FAULTS
from tests.local_cluster.ray_start import RAY as RAY_COMMAND
from vtr_core import ray_private
from vtr_core.ray_private import SEEN, release

ROOT = Path(__file__).parents[1]
RAY = Path(ray.__file__).parent
PRODUCT = ("vtr_core", "pipelines", "cluster", "tune_spaces", "benchmarks")
PUBLIC = {
    "ray",
    "ray.cluster_utils",
    "ray.data",
    "ray.exceptions",
    "ray.job_submission",
    "ray.serve",
    "ray.serve.exceptions",
    "ray.serve.handle",
    "ray.train",
    "ray.train.torch",
    "ray.tune",
    "ray.tune.experiment",
    "ray.tune.schedulers",
    "ray.tune.search",
    "ray.util",
    "ray.util.metrics",
    "ray.util.placement_group",
    "ray.util.scheduling_strategies",
    "ray.util.state",
}
"""The modules that Ray's API reference has."""
DOCUMENTED = {
    "RAY_ADDRESS",
    "RAY_AIR_NEW_OUTPUT",
    "RAY_API_SERVER_ADDRESS",
    "RAY_AUTH",
    "RAY_AUTH_MODE",
    "RAY_AUTH_TOKEN",
    "RAY_AUTH_TOKEN_PATH",
    "RAY_TMPDIR",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING",
    "TUNE_GLOBAL_CHECKPOINT_S",
}
"""The variables that Ray's user guides have, and what all those of tokens begin with."""
TESTS_ALONE = {
    "tests/cluster/test_cluster_file.py": {"ray.autoscaler", "ray.autoscaler._private.util"},
    "tests/cluster/test_kuberay.py": {"ray.autoscaler._private.kuberay.autoscaling_config"},
    "tests/local_cluster/ray_state.py": {"ray._raylet", "ray.core.generated"},
    "tests/train/fleet/test_placement.py": {"ray._private.label_utils"},
}
"""Where Ray's own checks are asked whether they take what is ours, and nodes are drained for a drill."""


# The Ray that is installed.


def test_the_installed_ray_is_one_that_was_seen() -> None:
    assert release(ray.__version__) in SEEN, "run these tests and make test-all with it, and add it to SEEN"


def test_no_other_ray_can_be_installed() -> None:
    (bounds,) = set(re.findall(r'"ray\[[\w,]+\]([^"]+)"', (ROOT / "pyproject.toml").read_text()))
    major, minor = (int(part) for part in SEEN[-1].split("."))
    assert bounds == f">={SEEN[0]},<{major}.{minor + 1}"
    (pinned,) = re.findall(r"(?m)^ray==(\S+)$", (ROOT / "constraints.txt").read_text())
    assert pinned == metadata.version("ray")


def test_patches_are_the_same_release() -> None:
    assert [release(version) for version in ("2.60.0", "2.60.1.post1", "2.61.0rc1")] == ["2.60", "2.60", "2.61"]


# Every name of it.

SPELT_IN = {
    ray_private.KEEP_DEVICES: "_private/accelerators/accelerator.py",
    ray_private.STOP_WAIT: "dashboard/modules/job/job_supervisor.py",
    ray_private.TLS: "util/client/worker.py",
    ray_private.SYNC_WARNING: "tune/execution/experiment_state.py",
    "RAY_JOB_CONFIG_JSON_ENV_VAR": "_private/runtime_env/constants.py",
    **{name: "train/v2/_internal/constants.py" for name in QUICK_FAULTS if name.startswith("RAY_TRAIN_")},
}


@pytest.mark.parametrize("name", SPELT_IN)
def test_ray_reads_the_variable(name: str) -> None:
    assert f'"{name}"' in (RAY / SPELT_IN[name]).read_text()


def test_rays_servers_know_the_settings() -> None:
    settings = *QUICK_FAULTS, *ray_private.NO_PRESTART, *ray_private.KEEP_IDLE, ray_private.RECONNECT_S
    names = [name for name in settings if not name.startswith("RAY_TRAIN_")]
    assert len(names) == 8
    server = RAY / "core" / "src" / "ray" / "raylet" / "raylet"
    with server.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        assert [name for name in (*names, "RAY_no_such_setting") if content.find(name[4:].encode()) < 0] == [
            "RAY_no_such_setting"
        ]


def test_loggers_are_named_after_modules() -> None:
    names = {*ray_private.TALKATIVE_AT_START, *ray_private.TALKATIVE_IN_JOBS, *ray_private.TALKATIVE_IN_SWEEPS}
    assert [name for name in (*names, RAY_COMMAND[-1]) if importlib.util.find_spec(name) is None] == []
    ray_private.only_errors(["ray.tune.tune"])
    assert import_module("ray.tune.tune").logger.getEffectiveLevel() == logging.ERROR


def test_ray_data_writes_to_a_handler_that_can_be_quieted() -> None:
    import_module("ray.data")
    ray_private.quiet_data()
    levels = {type(handler).__name__: handler.level for handler in logging.getLogger("ray.data").handlers}
    assert levels["PlainRayHandler"] == logging.ERROR


def test_the_connected_cluster(local_ray: None) -> None:
    assert ray_private.draining_nodes() == set()
    assert ray_private.autoscaler_limits() is None
    (node,) = ray.nodes()
    assert node["Resources"][ray_private.HEAD] == 1.0
    head = ray_state.head_state(ray.get_runtime_context().gcs_address)
    assert list(ray_state.living_nodes(head)) == [node["NodeID"]]
    assert ray_state.drain(head, "0" * 56, 0) is None  # nobody misses a node that is not there


def test_a_cluster_is_asked_whether_it_is_there(local_ray: None) -> None:
    head = ray.get_runtime_context().gcs_address
    (node,) = ray.nodes()
    raylet = f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}"
    assert (ray_private.head_fault(head), ray_private.is_gone(head)) == (None, False)
    assert ray_private.head_fault(raylet) == "another server answers, not the head of a cluster"
    assert not ray_private.is_gone(raylet)


def test_nobody_is_no_cluster() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]  # free again when the server is closed
    assert ray_private.head_fault(f"127.0.0.1:{port}") == "nothing of Ray's answers: Connection refused"
    assert ray_private.is_gone(f"127.0.0.1:{port}")


def test_a_token_that_cannot_be_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(address: str) -> str:
        raise ray.exceptions.AuthenticationError("RAY_AUTH_TOKEN_PATH is set but file cannot be opened")

    monkeypatch.setattr(ray_private, "_ask_version", ask)
    assert "file cannot be opened" in str(ray_private.head_fault("10.0.0.1:6379"))
    assert not ray_private.is_gone("10.0.0.1:6379")


def test_workers_import_nothing_from_the_working_directory() -> None:
    """Ray puts it first for a job that is not a client's, which is all that this field decides of ours."""
    job = ray_private.imports_alone(["/code"])
    assert (job._client_job, job._py_driver_sys_path) == (True, ["/code"])
    source = inspect.getsource(import_module("ray._private.worker").connect)
    assert "if not job_config._client_job and not job_config._runtime_env_has_working_dir():" in source


def test_where_ray_keeps_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray._private.utils import validate_socket_filepath

    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    monkeypatch.setenv("TMPDIR", "/scratch")
    assert ray_private.folder() == "/scratch"
    longest = "/" + "a" * (ray_private.LONGEST_FOLDER - 1)
    socket_name = "ray/session_2026-01-01_00-00-00_000000_1234567/sockets/plasma_store"
    validate_socket_filepath(f"{longest}/{socket_name}")
    with pytest.raises(OSError, match="AF_UNIX path length"):
        validate_socket_filepath(f"{longest}a/{socket_name}")


def test_the_last_started_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("_private", "_common"):
        monkeypatch.setattr(f"ray.{module}.utils.get_ray_address_file", lambda _: str(tmp_path / "ray_current_cluster"))
    assert ray_private.started_last() is None
    (tmp_path / "ray_current_cluster").write_text("10.0.0.1:6379\n")
    ray_private.forget("10.0.0.2:6379")
    assert ray_private.started_last() == "10.0.0.1:6379"
    ray_private.forget("10.0.0.1:6379")
    assert ray_private.started_last() is None


TOKEN_LATER = """
import os, ray
from ray._raylet import AuthenticationMode, AuthenticationTokenLoader, get_authentication_mode
from vtr_core.ray_private import read_token_settings, send_known_token
before = get_authentication_mode()
os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN="t" * 64)
read_token_settings()
assert before != get_authentication_mode() == AuthenticationMode.TOKEN
assert "t" * 64 in str(AuthenticationTokenLoader.instance().get_token_for_http_header())
del os.environ["RAY_AUTH_MODE"]
read_token_settings()
assert get_authentication_mode() == before
send_known_token()
assert get_authentication_mode() == AuthenticationMode.TOKEN and os.environ["RAY_AUTH_MODE"] == "token"
"""


def test_a_token_that_is_set_later_is_read() -> None:
    """In a process of its own: this one's Ray goes on with its own token."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run([sys.executable, "-c", TOKEN_LATER], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_functions_for_jobs_take_what_they_are_given() -> None:
    """What they do shows in tests of pipelines/submit and cluster, and in tests/integration/test_submit.py."""
    from ray._private.authentication.authentication_token_setup import maybe_enable_token_auth_if_token_available
    from ray.dashboard.utils import ray_address_to_api_server_url
    from ray.job_submission import JobSubmissionClient

    assert "warn_if_disabled" in inspect.signature(maybe_enable_token_auth_if_token_available).parameters
    assert list(inspect.signature(ray_address_to_api_server_url).parameters) == ["address"]
    assert list(inspect.signature(JobSubmissionClient._do_request).parameters)[1:3] == ["method", "endpoint"]


def test_ray_trains_faults_are_faults() -> None:
    assert issubclass(ray_private.failed_health_check(), Exception)


@pytest.mark.parametrize(
    ("memory", "shared", "taken"),
    [
        (10**10, 10**8, 3 * 10**9),  # three tenths
        (10**11, 10**8, 10**10),  # as much where /dev/shm holds less: on disk
        (10**11, 2 * 10**10, 19 * 10**9),  # what /dev/shm holds
        (10**13, 10**12, 2 * 10**11),  # at most
    ],
)
def test_what_ray_takes_for_objects(memory: int, shared: int, taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray._private.utils.get_shared_memory_bytes", lambda: shared)
    assert ray_private.object_store_bytes(memory) == taken


def test_ray_datas_settings_are_there() -> None:
    """They are public, and a name that is gone would be set without a word."""
    from ray.data import DataContext

    context = DataContext.get_current()
    for name in ("enable_progress_bars", "memory_usage_poll_interval_s", "target_max_block_size"):
        assert hasattr(context, name)
    for name in ("label_selector", "preserve_order", "verbose_progress"):
        assert hasattr(context.execution_options, name)


# Nothing else reaches behind Ray's interface.


def _files(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    """Those that could name anything of Ray's."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if re.search(r"\bray\b|RAY_|TUNE_|__internal_", text := path.read_text()):
                yield str(path.relative_to(ROOT)), ast.parse(text)


def _imported(tree: ast.Module) -> Iterator[str]:
    """Modules, and names of public ones that are no part of their interface."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            if node.module in PUBLIC:
                yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name.startswith("_"))


def _private_modules(tree: ast.Module) -> set[str]:
    return {name for name in _imported(tree) if name.partition(".")[0] == "ray"} - PUBLIC


def _told(tree: ast.Module) -> Iterator[str]:
    """Text that the program uses, which docstrings are not."""
    explained = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in explained:
            yield node.value


def _private_words(tree: ast.Module) -> set[str]:
    """Variables that no guide of Ray's has, paths of Ray's modules, resources that Ray gives nodes."""
    text = "\n".join(_told(tree))
    variables = set(re.findall(r"\b(?:RAY|TUNE)_\w+", text)) - DOCUMENTED
    modules = {name for name in re.findall(r"(?<![\w.])ray(?:\.\w+)+", text) if _is_module(name)} - PUBLIC
    return variables | modules | set(re.findall(r"__internal_\w+", text))


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def test_no_other_module_of_the_product_uses_private_names() -> None:
    """Members that begin with an underscore are ruff's SLF001."""
    found = {name: _private_modules(tree) | _private_words(tree) for name, tree in _files(*PRODUCT)}
    assert {name for name, used in found.items() if used} == {"vtr_core/ray_private.py"}


def test_tests_import_only_those_of_rays_own_checks() -> None:
    found = {name: _private_modules(tree) for name, tree in _files("tests") if name != "tests/test_ray_private.py"}
    assert {name: used for name, used in found.items() if used} == TESTS_ALONE


@pytest.mark.parametrize(
    ("line", "is_private"),
    [
        ("from ray.train.v2.api.config import RunConfig", True),
        ("from ray import _raylet", True),
        ("environ['RAY_some_setting'] = '1'", True),
        ("getLogger('ray._private.worker')", True),
        ("needs = {'node:__internal_head__': 1}", True),
        ("from ray.train import RunConfig", False),
        ("'''RAY_some_setting'''", False),
        ("tag = 'ray.submission_id'", False),
        ("environ['RAY_ADDRESS']", False),
    ],
)
def test_private_names_are_found_and_public_ones_are_not(line: str, is_private: bool) -> None:
    tree = ast.parse(line)
    assert bool(_private_modules(tree) | _private_words(tree)) == is_private
