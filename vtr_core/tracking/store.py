"""The store of runs: MLflow's client of a server, a database or the SQLite file of a folder, and what is wrong with it.

A store may raise anything, of MLflow, SQLAlchemy, Alembic, a database's driver or the network, and must cost neither
training nor results: whoever writes to it catches every `Exception`, and shows its `trouble`.
"""

import logging
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from vtr_core.errors import ConfigError, one_line
from vtr_core.redaction import is_redacted, redact

if TYPE_CHECKING:
    from mlflow import MlflowClient

_SQLITE = "sqlite:///"
_TIMEOUT, _TIMEOUT_S, _UPLOAD_TIMEOUT_S = "MLFLOW_HTTP_REQUEST_TIMEOUT", "20", "900"
_DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    _TIMEOUT: _TIMEOUT_S,
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}
"""MLflow's seven retries would block for minutes on an unreachable server; here callers retry later. Progress bars of
artifacts would clutter the output.
"""


def default_tracking_uri() -> str:
    """`MLFLOW_TRACKING_URI`, or the SQLite file `mlflow.db` in the working directory."""
    if uri := os.environ.get("MLFLOW_TRACKING_URI"):
        return uri
    file = os.path.abspath("mlflow.db")  # quoted only where it would name another file otherwise
    quoted = file.replace("%", "%25").replace("?", "%3F")
    return _SQLITE + (quoted if "?" in file or unquote(file) != file else file)


def sqlite_file(tracking_uri: str) -> Path | None:
    """The file of an SQLite store; None for other stores."""
    path = unquote(tracking_uri.removeprefix(_SQLITE).partition("?")[0])
    return Path(path).absolute() if tracking_uri.startswith(_SQLITE) and path.strip("/") != ":memory:" else None


_LOCAL_STORES = ("sqlite:", "file:", "/")


def full_tracking_uri(shown: str) -> str:
    """The full URI of a store whose redacted URI is in the run's record.

    A file of this machine is opened as it is stated. A server is sent the user's token or password, so that the record,
    which may be somebody else's, cannot name it: ConfigError where MLFLOW_TRACKING_URI is another one.
    """
    if shown.startswith(_LOCAL_STORES) or "://" not in shown:
        return shown
    uri = default_tracking_uri()
    if redact(uri) != shown:
        password = ", with the password, which is kept nowhere" if is_redacted(shown) else ""
        raise ConfigError(
            f"the run is logged in {shown}, MLFLOW_TRACKING_URI is {redact(uri)}; set it to the run's store{password}"
        )
    return uri


def import_client() -> None:
    """Import MLflow's client now, so that import time does not count as waiting for a store that does not answer."""
    import mlflow.tracking  # noqa: F401


def open_client(tracking_uri: str) -> "MlflowClient":
    """A client whose calls time out soon where the store is unreachable, unless the user's environment sets otherwise.

    For a URI with a password MLflow is told not to print links to runs, which would contain it.
    """
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    if redact(tracking_uri) != tracking_uri:
        os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
    _quiet()
    from mlflow import MlflowClient

    _require_database(tracking_uri)
    return MlflowClient(tracking_uri)


def _quiet() -> None:
    """Silence the log messages about the store's migrations and about the registration of models, and tracebacks."""
    for name in ("alembic", "mlflow.tracking", "mlflow.pyfunc", "mlflow.store.model_registry"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # what it logs is raised as well


@cache
def _require_database(tracking_uri: str) -> None:
    """Connect once to a database, and give a new SQLite file its tables; nothing for other stores.

    MLflow itself would try for 100 seconds to connect, whatever refused.
    """
    from mlflow.store.db.db_types import DATABASE_ENGINES
    from mlflow.store.db.utils import create_sqlalchemy_engine

    if tracking_uri.partition(":")[0].partition("+")[0] not in DATABASE_ENGINES:
        return
    file = sqlite_file(tracking_uri)
    if file is not None:
        _require_tables(file)
        _open_quoted(tracking_uri, file)
        return
    engine = create_sqlalchemy_engine(tracking_uri)
    try:
        engine.connect().close()
    finally:
        engine.dispose()


def _open_quoted(tracking_uri: str, file: Path) -> None:
    """Open a file whose URI is quoted, and remove the folder of the quoted name, which MLflow makes as it does."""
    from mlflow import MlflowClient

    folder = Path(tracking_uri.removeprefix(_SQLITE)).absolute().parent
    if folder != file.parent and not folder.exists():
        MlflowClient(tracking_uri)
        with suppress(OSError):
            os.removedirs(folder)


_LOCK_S = 20.0
"""Seconds to wait for another process's lock of an SQLite file, as MLflow waits."""


def _require_tables(file: Path) -> None:
    """Make MLflow's tables in an SQLite file that has none yet, all or none; sqlite3.Error or OSError where it cannot.

    MLflow migrates an empty file in some fifty steps, each written to the disk: a minute where that is slow. A second
    process that finds a part of the tables fails, and so does every later one where the first was killed.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file, timeout=_LOCK_S, isolation_level=None)) as database:
        tables = "SELECT count(*) FROM sqlite_master"
        if database.execute(tables).fetchone() != (0,):
            return
        statements = _statements()
        database.execute("BEGIN EXCLUSIVE")
        if database.execute(tables).fetchone() == (0,):
            for statement in statements:
                database.execute(statement)
            database.execute("COMMIT")


def _statements() -> list[str]:
    """What makes MLflow's tables and first rows: a dump of a database in memory, where its migrations take a second."""
    from mlflow.store.tracking import DEFAULT_LOCAL_FILE_AND_ARTIFACT_PATH
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    engine = SqlAlchemyStore("sqlite:///:memory:", DEFAULT_LOCAL_FILE_AND_ARTIFACT_PATH).engine
    try:
        with closing(engine.raw_connection()) as connection:
            database = connection.driver_connection
            assert isinstance(database, sqlite3.Connection)
            return [line for line in database.iterdump() if line not in ("BEGIN TRANSACTION;", "COMMIT;")]
    finally:
        engine.dispose()  # here, as its connection is this thread's


@contextmanager
def patient() -> Iterator[None]:
    """Use a longer timeout, for a server that answers a large upload only once it has passed it on to its store."""
    before = os.environ.get(_TIMEOUT)
    if before in (None, _TIMEOUT_S):
        os.environ[_TIMEOUT] = _UPLOAD_TIMEOUT_S
    try:
        yield
    finally:
        os.environ[_TIMEOUT] = before or _TIMEOUT_S


_STATEMENT = re.compile(r"\s*(\[SQL: |\(Background on this error).*", re.DOTALL)
"""What SQLAlchemy adds to a database's own words."""
_REMEDIES = (
    (r"unable to open|readonly|read-only|[Pp]ermission denied", "make the file and its folder writable"),
    (r"not a database|malformed", "the file is damaged: move it away, and the next run begins a new one"),
    (r"duplicate column|already exists", "its tables are incomplete: move it away, and the next run begins a new one"),
    (r"is locked", "another program writes to it: end that"),
    (r"is full|No space left", "make room on its disk"),
    (
        r"database schema|locate revision|no such (table|column)",
        "its tables are of another release of MLflow: `mlflow db upgrade` brings older ones up to date",
    ),
    (r"No module named", "install the driver of the database"),
    (r"Max retries|[Cc]onnection refused|timed out", "no server answers there: start it"),
    (r"maintenance mode", "a folder holds no runs any more: give sqlite:///FILE"),
)
"""What to do, by a pattern of what a store says."""


def trouble(error: Exception) -> str:
    """What a store said, in one line, without secrets and SQL, and what to do about it, as far as that is known."""
    text = redact(one_line(_STATEMENT.sub("", str(error)))) or type(error).__name__
    text = re.sub(r"^\((\w+\.)?\w+Error\) ", "", text)
    remedy = next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, text)), None)
    if remedy is None:
        return text[:300]
    return f"{text.partition('. ')[0][:200]}; {remedy}, or set MLFLOW_TRACKING_URI to another store"


def store_fault(tracking_uri: str) -> str | None:
    """Why the store at `tracking_uri` cannot be used, without secrets; None where it answers, or can be created."""
    file = sqlite_file(tracking_uri)
    if file is not None and not file.exists():
        if not file.parent.is_dir():
            return f"there is no folder {file.parent} for it"
        return None if os.access(file.parent, os.W_OK) else f"the folder {file.parent} cannot be written"
    try:
        open_client(tracking_uri).search_experiments(max_results=1)
    except Exception as error:
        return trouble(error)
    return None
