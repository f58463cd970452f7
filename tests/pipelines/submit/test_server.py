"""The server of a cluster's jobs: addresses, tokens, versions, jobs, against a small one that answers as Ray does."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import ray

from pipelines.submit import job_server
from pipelines.submit.job_server import SubmittedJob, address, connect, is_this_machine, send
from vtr_core.errors import ClusterError, ConfigError

NO_AGENT = "No available agent to submit job, please try again later."
TAKEN = "Job with submission_id mine already exists"
ENVIRONMENT = {"env_vars": {"VTR_GIT_COMMIT": "c0ffee", "OTHER": "x"}}


class Answer(BaseHTTPRequestHandler):
    status, version, hosts = 200, ray.__version__, ["elsewhere"]
    refusals: list[str]
    """What the next jobs are refused with; then they are taken."""
    jobs: list[dict[str, object]]

    def do_GET(self) -> None:
        body = {"version": "4", "ray_version": self.version, "ray_commit": "x", "data": {"hostNameList": self.hosts}}
        text = {401: "Missing authentication token", 403: "Invalid authentication token"}.get(self.status)
        self._answer(self.status, text or json.dumps(body))

    def do_POST(self) -> None:
        job = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.refusals:
            self._answer(500, self.refusals.pop(0))
            return
        self.jobs.append(job)
        self._answer(200, json.dumps({"job_id": "mine", "submission_id": "mine"}))

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, type[Answer]]]:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_API_SERVER_ADDRESS", "http://not.this:1")
    monkeypatch.setattr(job_server, "_PAUSE_S", 0.0)
    handler = type("Handler", (Answer,), {"refusals": [], "jobs": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}", handler
        listening.shutdown()


def test_the_address() -> None:
    both = {"RAY_API_SERVER_ADDRESS": "http://a:1/", "RAY_ADDRESS": "https://b:2"}
    assert address("http://c:3", both) == "http://c:3"
    assert address(None, both) == "http://a:1"
    assert address(None, {"RAY_ADDRESS": "https://b:2"}) == "https://b:2"
    assert address(None, {}) == "http://127.0.0.1:8265"
    with pytest.raises(ConfigError, match="is not the URL of a Ray dashboard"):
        address("head:6379", {})


def test_the_address_that_was_asked_for_is_taken(server: tuple[str, type[Answer]]) -> None:
    url, _ = server
    assert connect(url).get_address() == url


def test_nothing_answers() -> None:
    with pytest.raises(ClusterError, match=r"no Ray cluster answers at http://127\.0\.0\.1:1 .*ray start --head"):
        connect("http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("status", "message"),
    [(401, "asks for a token; set RAY_AUTH_MODE"), (403, "does not accept this token"), (404, "not a Ray dashboard")],
)
def test_refusals(status: int, message: str, server: tuple[str, type[Answer]]) -> None:
    url, handler = server
    handler.status = status
    with pytest.raises(ClusterError, match=message):
        connect(url)


def test_another_version_of_ray(server: tuple[str, type[Answer]]) -> None:
    url, handler = server
    handler.version = "2.9.3"
    with pytest.raises(ClusterError, match=r"runs Ray 2\.9\.3, this machine .*pip install"):
        connect(url)


def test_whether_the_cluster_is_this_machine(server: tuple[str, type[Answer]], monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    url, handler = server
    client = connect(url)
    assert not is_this_machine(client)
    handler.hosts = [socket.gethostname()]
    assert is_this_machine(client)
    handler.hosts = []
    threading.Timer(0.1, lambda: setattr(handler, "hosts", [socket.gethostname()])).start()
    assert is_this_machine(client)
    handler.hosts = [socket.gethostname(), "elsewhere"]
    assert not is_this_machine(client)
    handler.hosts = []
    monkeypatch.setenv("VTR_RAY_PATIENCE_S", "0")
    assert not is_this_machine(client)


def test_a_job_is_sent(server: tuple[str, type[Answer]]) -> None:
    """A head whose agent does not run yet is asked again."""
    url, handler = server
    handler.refusals[:] = [NO_AGENT, NO_AGENT]
    send(SubmittedJob(connect(url), "mine", 60), "vtr train", ENVIRONMENT)
    (sent,) = handler.jobs
    assert (sent["entrypoint"], sent["submission_id"]) == ("vtr train", "mine")
    assert sent["metadata"] == {"VTR_GIT_COMMIT": "c0ffee"}


@pytest.mark.parametrize(
    ("refusal", "error", "message"),
    [
        (NO_AGENT, ClusterError, r"the job was not submitted: .*No available agent"),
        (TAKEN, ConfigError, "there is a job mine on this cluster; give another --submission-id"),
        ("no disk", ClusterError, "the job was not submitted: .*no disk"),
    ],
)
def test_other_refusals_are_not_repeated(
    refusal: str, error: type[Exception], message: str, server: tuple[str, type[Answer]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    url, handler = server
    handler.refusals[:] = [refusal]
    job = SubmittedJob(connect(url), "mine", 60)
    monkeypatch.setenv("VTR_RAY_PATIENCE_S", "0")
    with pytest.raises(error, match=message):
        send(job, "vtr train", ENVIRONMENT)
    assert not handler.jobs
