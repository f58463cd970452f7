"""An MLflow server as a cluster has it: runs and models in PostgreSQL, artifacts on an S3-compatible store."""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.s3.store import running_store

_PASSWORD = "mlflow-test-password"
_WAIT_S = 600
_ATTEMPTS = 3


def postgres_programs() -> Path | None:
    """The folder with PostgreSQL's server programs, where it is installed."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    usable = [folder for folder in folders if (folder / "pg_ctl").exists()]
    return usable[-1] if usable else None


@contextmanager
def running_server() -> Iterator[str]:
    """The URI of a server of our own, for as long as the context lasts."""
    with running_store() as store, _postgres() as database:
        words = ["-m", "mlflow", "server", "--workers", "1", "--artifacts-destination", f"{store.folder()}/artifacts"]
        env = {**os.environ, **store.env, "MLFLOW_BACKEND_STORE_URI": database, "AWS_DEFAULT_REGION": "us-east-1"}
        env["MLFLOW_S3_ENDPOINT_URL"] = store.endpoint
        for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI"):
            env.pop(name, None)
        with serving([sys.executable, *words], env, "/health") as uri:
            yield uri


@contextmanager
def serving(words: list[str], env: Mapping[str, str], path: str, cwd: Path | None = None) -> Iterator[str]:
    """The URI of a server of MLflow on the loopback address that answers at `path`, for as long as the context lasts.

    Where somebody else took the port in the moment between choosing and using it, another one is tried.
    """
    for _ in range(_ATTEMPTS):
        port = _free_port()
        listening = [*words, "--host", "127.0.0.1", "--port", str(port)]
        process = subprocess.Popen(listening, env=env, cwd=cwd, start_new_session=True)
        try:
            if _answers(f"http://127.0.0.1:{port}{path}", process):
                yield f"http://127.0.0.1:{port}"
                return
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 15)
            process.wait()
    raise AssertionError("the MLflow server ended")


@contextmanager
def _postgres() -> Iterator[str]:
    """The URI of an empty database in a cluster of our own; it does not run as root."""
    programs = postgres_programs()
    assert programs is not None
    user = "postgres" if os.geteuid() == 0 else getpass.getuser()
    folder = Path(tempfile.mkdtemp(prefix="vtr-postgres-"))
    (folder / "password").write_text(_PASSWORD)
    if os.geteuid() == 0:
        for place in (folder, folder / "password"):
            shutil.chown(place, user)

    def run(program: str, *words: str) -> None:
        quiet = subprocess.DEVNULL
        subprocess.run([programs / program, *words], check=True, user=user, cwd=folder, stdout=quiet, timeout=_WAIT_S)

    data, options = str(folder / "data"), f"-k {folder} -c listen_addresses='' -c fsync=off"
    try:
        run("initdb", "-D", data, "-U", "mlflow", "-A", "scram-sha-256", f"--pwfile={folder}/password")
        run("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql+psycopg2://mlflow:{_PASSWORD}@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _answers(url: str, process: "subprocess.Popen[bytes]") -> bool:
    """Whether the server comes to answer at `url`; False where it ends before."""
    deadline = time.monotonic() + _WAIT_S
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while process.poll() is None:
        with suppress(OSError), direct.open(url, timeout=60) as answer:
            if answer.status == 200:
                return True
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return False
