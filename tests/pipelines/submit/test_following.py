"""Following a job: its whole log once, Ctrl-C, and exit codes."""

import sys
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.submit import job_server as job_following
from pipelines.submit.job_server import JobFollower, SubmittedJob, exit_code
from vtr_core.errors import ClusterError


class Server:
    """A jobs API: each script is one reading of the log, of pieces to send and errors to raise."""

    def __init__(self, *scripts: list[Any], status: str = "SUCCEEDED", code: int | None = 0, message: str = "") -> None:
        self.scripts, self.status, self.code, self.message = list(scripts), status, code, message
        self.stopped: list[str] = []

    async def tail_job_logs(self, name: str) -> AsyncIterator[str]:
        for piece in self.scripts.pop(0):
            if isinstance(piece, BaseException):
                raise piece
            yield piece

    def get_job_info(self, name: str) -> Any:
        from ray.job_submission import JobStatus

        status = JobStatus("RUNNING" if self.scripts else self.status)
        return SimpleNamespace(status=status, driver_exit_code=self.code, message=self.message)

    def stop_job(self, name: str) -> None:
        self.stopped.append(name)
        self.status, self.code = "STOPPED", None

    def get_address(self) -> str:
        return "http://head:8265"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_following, "_PAUSE_S", 0.0)


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """A terminal whose user gives one answer."""

    def answer(given: Any) -> None:
        def ask(prompt: str) -> str:
            assert "stop the job? [y/N]" in prompt
            if isinstance(given, BaseException):
                raise given
            return str(given)

        monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
        monkeypatch.setattr("builtins.input", ask)

    return answer


def follow(server: Server, yes: bool = False) -> int:
    client: Any = server
    return JobFollower(SubmittedJob(client, "job-1", 60), yes).follow()


def test_the_log_comes_once_though_the_connection_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(
        ["one\n", "two\n", ConnectionError("gone")],
        ["one\ntwo\nth", "ree\n"],
        [RuntimeError("closed")],
        ["one\ntwo\nthree\nfour\n"],
    )
    assert follow(server) == 0
    assert capsys.readouterr().out == "one\ntwo\nthree\nfour\njob job-1 succeeded\n"


def test_a_lost_server_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTR_RAY_PATIENCE_S", "0")
    server = Server([ConnectionError("gone")])
    with pytest.raises(ClusterError, match=r"lost contact with job job-1, which may go on \(gone\).*ray job logs"):
        follow(server)


@pytest.mark.parametrize(("code", "expected"), [(2, 2), (137, 137), (-9, 137), (None, 1)])
def test_the_exit_code_is_the_jobs(code: int | None, expected: int, capsys: pytest.CaptureFixture[str]) -> None:
    server = Server([], status="FAILED", code=code, message="the environment\ncould not be made")
    assert follow(server) == expected == exit_code(code)
    assert ("the environment could not be made" in capsys.readouterr().err) == (code is None)


def test_ctrl_c_and_yes_stop_the_job(answering: Callable[[Any], None], capsys: pytest.CaptureFixture[str]) -> None:
    answering("y")
    server = Server(["one\n", KeyboardInterrupt()], ["one\nsaved\n"])
    assert follow(server) == 143
    assert server.stopped == ["job-1"]
    said = capsys.readouterr()
    assert said.out.count("one\n") == 1
    assert "at most 60 s" in said.out
    assert "was stopped" in said.err


@pytest.mark.parametrize("given", ["", "n", EOFError(), KeyboardInterrupt()])
def test_ctrl_c_and_no_leave_it(
    given: Any, answering: Callable[[Any], None], capsys: pytest.CaptureFixture[str]
) -> None:
    answering(given)
    server = Server(["one\n", KeyboardInterrupt()], [])
    assert follow(server) == 130
    assert server.stopped == []
    said = capsys.readouterr().out
    assert "ray job logs --follow --address http://head:8265 job-1" in said
    assert "ray job stop --address http://head:8265 job-1" in said


def test_without_a_terminal_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False))
    server = Server([KeyboardInterrupt()], [])
    assert follow(server) == 130
    assert server.stopped == []


def test_the_second_ctrl_c_leaves_at_once() -> None:
    server = Server([KeyboardInterrupt()], [KeyboardInterrupt()], [])
    assert follow(server, yes=True) == 130
    assert server.stopped == ["job-1"]
