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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.s3.store import running_store

_PASSWORD = "mlflow-test-password"
_WAIT_S = 600


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
        port = free_port()
        words = ["server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
        words += ["--artifacts-destination", f"{store.folder()}/artifacts"]
        env = {**os.environ, **store.env, "MLFLOW_BACKEND_STORE_URI": database, "AWS_DEFAULT_REGION": "us-east-1"}
        env["MLFLOW_S3_ENDPOINT_URL"] = store.endpoint
        for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI"):
            env.pop(name, None)
        process = subprocess.Popen([sys.executable, "-m", "mlflow", *words], env=env, start_new_session=True)
        try:
            wait_for(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 15)
            process.wait()


@contextmanager
def _postgres() -> Iterator[str]:
    """The URI of an empty database in a cluster of our own; it does not run as root."""
    programs = postgres_programs()
    assert programs is not None
    user = "postgres" if os.geteuid() == 0 else getpass.getuser()
    folder, port = Path(tempfile.mkdtemp(prefix="vtr-postgres-")), free_port()
    (folder / "password").write_text(_PASSWORD)
    if os.geteuid() == 0:
        for place in (folder, folder / "password"):
            shutil.chown(place, user)

    def run(program: str, *words: str) -> None:
        quiet = subprocess.DEVNULL
        subprocess.run([programs / program, *words], check=True, user=user, cwd=folder, stdout=quiet, timeout=_WAIT_S)

    data, options = str(folder / "data"), f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    try:
        run("initdb", "-D", data, "-U", "mlflow", "-A", "scram-sha-256", f"--pwfile={folder}/password")
        run("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql+psycopg2://mlflow:{_PASSWORD}@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def free_port() -> int:
    """A port of the loopback address that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    """Wait until a server answers at `url`; AssertionError where it ends before."""
    deadline = time.monotonic() + _WAIT_S
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        assert process.poll() is None, "the MLflow server ended"
        with suppress(OSError), direct.open(url, timeout=60) as answer:
            if answer.status == 200:
                return
        assert time.monotonic() < deadline
        time.sleep(0.2)
