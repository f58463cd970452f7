"""A job's command: checked before it leaves, completed by a profile, one line of shell; and what a dry run shows."""

import json
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cluster.profiles import PROFILE_NAMES, profile
from pipelines.arguments import dotted_changes
from pipelines.submit import job_command
from pipelines.submit.command import main
from pipelines.train.command import TrainFlags
from tests.cluster.test_upload import git, write
from vtr_core.errors import ConfigError

TRAIN = ["train", "capsule-howto-tiny", "--data", "s3://b/d"]


def test_words_before_and_after_the_dashes() -> None:
    own, command = job_command.split(["--yes", "--", *TRAIN])
    assert own == ["--yes"]
    assert command.words == tuple(TRAIN)
    assert job_command.split(["--", "vtr", *TRAIN])[1] == command


FAULTS = [
    ([], "there is no command after --"),
    (["submit", "--", "train"], "there is no command 'submit'"),
    (["train", "nothing", "--data", "x"], "no preset 'nothing'"),
    (["train", "capsule-howto-tiny", "--data", "x", "--batch.videos", "-1"], "batch.videos"),
    (["evaluate", "c", "--data", "s3://key:word@bucket/x"], r"s3://key:\*\*\*@bucket/x holds a secret"),
]


@pytest.mark.parametrize(("words", "message"), FAULTS, ids=[" ".join(words) for words, _ in FAULTS])
def test_faults(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        job_command.checked(words)


def test_what_train_checks_elsewhere_passes() -> None:
    for words in (["train", "--resume", "s3://b/run"], ["train", "--config", "c.json", "--data", "x"], ["train"]):
        assert job_command.checked(words).words == tuple(words)


def test_values_of_a_flag() -> None:
    command = job_command.JobCommand(("evaluate", "c", "--data", "a", "b", "--json=x", "--data=c"))
    assert command.values("--data") == ["a", "b", "c"]
    assert command.values("--json") == ["x"]
    assert command.values("--out") == []


def test_a_profile_adds_what_the_user_left_open() -> None:
    changes = {
        "scaling.workers": 8,
        "scaling.cpus_per_worker": 12.5,
        "scaling.device": "cuda",
        "scaling.min_workers": None,
    }
    command = job_command.JobCommand((*TRAIN, "--scaling.cpus-per-worker", "3", "--scaling.device=cpu"))
    added = job_command.with_profile(command, changes).words[len(command.words) :]
    assert dotted_changes(added, "vtr", TrainFlags) == {"scaling.workers": 8, "scaling.min_workers": None}
    assert command.words == job_command.with_profile(command, {}).words


@pytest.mark.parametrize("name", PROFILE_NAMES)
def test_a_training_takes_every_profile(name: str) -> None:
    command = job_command.with_profile(job_command.JobCommand(tuple(TRAIN)), profile(name).changes)
    assert job_command.checked(command.words) == command
    assert f"--scaling.workers={profile(name).changes['scaling.workers']}" in command.words


@pytest.mark.parametrize("words", [["evaluate", "c"], ["train", "--resume", "r"]])
def test_a_profile_needs_a_new_run(words: list[str]) -> None:
    with pytest.raises(ConfigError, match="leave it out"):
        job_command.with_profile(job_command.JobCommand(tuple(words)), {"scaling.workers": 8})


def test_the_shell_gets_the_words_as_they_are() -> None:
    words = ["evaluate", "a b", "--x=$(rm -rf /);'\"", "--json", "*"]
    far = shlex.split(job_command.JobCommand(tuple(words)).entrypoint(None))
    assert far == ["exec", "python", "-m", "pipelines.cli", *words]
    here = shlex.split(job_command.JobCommand(tuple(words)).entrypoint("/my folder"))
    assert here == ["cd", "/my folder", "&&", "exec", sys.executable, "-P", "-m", "pipelines.cli", *words]


def test_a_name_says_what_runs_and_when() -> None:
    now = datetime(2026, 1, 31, 12, tzinfo=UTC)
    name = job_command.JobCommand(tuple(TRAIN)).fresh_id(now)
    assert name.startswith("train-capsule-howto-tiny-20260131-120000-")
    assert name != job_command.JobCommand(tuple(TRAIN)).fresh_id(now)
    job_command.check_submission_id(name)
    job_command.check_submission_id(job_command.JobCommand(("evaluate", "s3://b/run", "--data", "x")).fresh_id())


@pytest.mark.parametrize("name", ["", "a/b", "../x", "a b", "-a", "x" * 101])
def test_names_that_ray_could_not_use(name: str) -> None:
    with pytest.raises(ConfigError, match="--submission-id"):
        job_command.check_submission_id(name)


@pytest.mark.parametrize(
    "words",
    [
        TRAIN,
        [*TRAIN, "--out", "runs/a"],
        ["evaluate", "s3://b/r", "--out", "report.json"],
        ["explain", "c", "--out=page"],
    ],
)
def test_results_that_would_be_lost(words: list[str]) -> None:
    with pytest.raises(ConfigError, match="removed after it"):
        job_command.check_places(job_command.JobCommand(tuple(words)))


@pytest.mark.parametrize(
    "words",
    [
        [*TRAIN, "--out", "s3://b/r"],
        [*TRAIN, "--out", "/shared/r"],
        ["train", "--resume", "s3://b/r"],
        ["evaluate", "c"],
    ],
)
def test_results_that_stay(words: list[str]) -> None:
    job_command.check_places(job_command.JobCommand(tuple(words)))


def test_remarks_on_places_that_the_cluster_may_not_reach() -> None:
    far = job_command.JobCommand(("train", "p", "--data", "/data/a", "--out", "s3://b/r"))
    assert job_command.remarks(far, "http://mlflow:5000") == ["/data/a must be there on every node of the cluster"]
    assert "is not sent" in job_command.remarks(job_command.JobCommand(tuple(TRAIN)), None)[0]
    for uri in ("sqlite:///mlflow.db", "http://127.0.0.1:5000", "http://localhost:5000", "file:///mlruns"):
        assert "another place" in job_command.remarks(job_command.JobCommand(tuple(TRAIN)), uri)[0]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, a repository; nothing may be asked of a cluster."""
    write(tmp_path, "code.py")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pipelines.submit.job_server.connect", pytest.fail)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-value")
    return tmp_path


def test_a_dry_run_shows_the_files_and_the_command_and_sends_nothing(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(checkout, "new.py", "with\x1b[2J\nlines.txt")
    write(checkout, "server.pem")
    git(checkout, "add", "server.pem")
    words = ["--dry-run", "--submission-id", "a", "--profile", "laptop"]
    main([*words, "--", "train", "capsule-howto-tiny", "--data", "s3://b/d e"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "job         a, not submitted"
    assert lines[1].startswith("command     vtr train capsule-howto-tiny --data 's3://b/d e' --scaling.workers=1 ")
    assert lines[2].startswith("code        1 file, 0.0 MB, of . at ")
    assert lines[3] == "            code.py"
    assert lines[4].startswith(r"not sent    2 untracked: new.py, with\x1b[2J lines.txt; git add or --include PATH")
    assert lines[5] == "not sent    1 that may hold a key: server.pem; --include FILE sends one"
    assert lines[-1].startswith("kept here   AWS_SECRET_ACCESS_KEY")
    assert "secret-value" not in "".join(lines)


def test_a_dry_run_as_json(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--dry-run", "--json", "--submission-id", "a", "--include", "code.py", "--", "evaluate", "c", "--data", "d"])
    assert json.loads(capsys.readouterr().out) == {"submission_id": "a", "exit_code": None}


def test_an_archive_has_no_further_files(checkout: Path) -> None:
    with pytest.raises(ConfigError, match=r"--include adds files of a folder, and .* s3://b/code\.zip is an"):
        main(["--working-dir", "s3://b/code.zip", "--include", "code.py", "--", "evaluate", "c", "--data", "d"])
