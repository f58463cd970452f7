"""`vtr submit`: what it shows before it sends anything."""

import json
from pathlib import Path

import pytest

from pipelines.submit.command import main
from tests.cluster.test_upload import git, write
from vtr_core.errors import ConfigError


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
