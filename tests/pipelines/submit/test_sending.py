"""Submitting a job by Ray's own client, to a small server that answers as a cluster's head does."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import ray
from ray.job_submission import JobSubmissionClient

from pipelines.submit import job_server as sending
from pipelines.submit.job_server import SubmittedJob
from vtr_core.errors import ClusterError, ConfigError

NO_AGENT = "No available agent to submit job, please try again later."
TAKEN = "Job with submission_id mine already exists"
ENVIRONMENT = {"env_vars": {"VTR_GIT_COMMIT": "c0ffee", "OTHER": "x"}}


class Head(BaseHTTPRequestHandler):
    refusals: list[str]
    """What the next requests are refused with; then jobs are taken."""
    jobs: list[dict[str, object]]

    def do_GET(self) -> None:
        self._answer(200, json.dumps({"version": "4", "ray_version": ray.__version__, "ray_commit": "x"}))

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
def head(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[type[Head], SubmittedJob]]:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.delenv("RAY_API_SERVER_ADDRESS", raising=False)
    monkeypatch.setattr(sending, "_PAUSE_S", 0.0)
    handler = type("Handler", (Head,), {"refusals": [], "jobs": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        client = JobSubmissionClient(f"http://127.0.0.1:{listening.server_port}")
        yield handler, SubmittedJob(client, "mine", 60)
        listening.shutdown()


def test_a_job_is_sent(head: tuple[type[Head], SubmittedJob]) -> None:
    handler, job = head
    sending.send(job, "vtr train", ENVIRONMENT, 1.0)
    (sent,) = handler.jobs
    assert (sent["entrypoint"], sent["submission_id"], sent["entrypoint_num_cpus"]) == ("vtr train", "mine", 1.0)
    assert sent["metadata"] == {"VTR_GIT_COMMIT": "c0ffee"}


def test_a_head_whose_agent_does_not_run_yet_is_asked_again(head: tuple[type[Head], SubmittedJob]) -> None:
    handler, job = head
    handler.refusals[:] = [NO_AGENT, NO_AGENT]
    sending.send(job, "vtr train", ENVIRONMENT, 0.0)
    assert len(handler.jobs) == 1


def test_without_an_agent_there_is_an_error_in_the_end(
    head: tuple[type[Head], SubmittedJob], monkeypatch: pytest.MonkeyPatch
) -> None:
    handler, job = head
    monkeypatch.setenv("VTR_RAY_PATIENCE_S", "0")
    handler.refusals[:] = [NO_AGENT]
    with pytest.raises(ClusterError, match=r"the job was not submitted: .*No available agent"):
        sending.send(job, "vtr train", ENVIRONMENT, 0.0)


@pytest.mark.parametrize(
    ("refusal", "error", "message"),
    [
        (TAKEN, ConfigError, "there is a job mine on this cluster; give another --submission-id"),
        ("no disk", ClusterError, "the job was not submitted: .*no disk"),
    ],
)
def test_other_refusals_are_not_repeated(
    refusal: str, error: type[Exception], message: str, head: tuple[type[Head], SubmittedJob]
) -> None:
    handler, job = head
    handler.refusals[:] = [refusal]
    with pytest.raises(error, match=message):
        sending.send(job, "vtr train", ENVIRONMENT, 0.0)
    assert not handler.jobs
