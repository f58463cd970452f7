"""Secrets in a code folder do not go to a cluster, and a repository runs no program while it is asked."""

from pathlib import Path

import pytest

from cluster.upload import upload_of
from tests.cluster.test_upload import git, write
from vtr_core.errors import ConfigError

DOT_FILES = (
    ".envrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".docker/config.json",
    ".kube/config",
    ".config/gcloud/credentials.db",
    ".huggingface/token",
    "nested/.aws/credentials",
)
KEYS = ("keys/id_rsa", "keys/id_ed25519", "keys/me.P12", "server.pem", "infra/terraform.tfstate", "x.tfstate.backup")
UNTRACKED = ("token", "credentials.json", "notes/passwords.txt")
PRIVATE_KEY = "-----BEGIN RSA {} KEY-----\n".format("PRIVATE") + "MIIEpAIBAAKCAQEA7x9" * 8


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with code; everything that is beside it is written by the tests."""
    folder = tmp_path / "checkout"
    write(folder, "code.py")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    return folder


def test_untracked_secrets_stay_here(checkout: Path) -> None:
    write(checkout, *DOT_FILES, *KEYS, *UNTRACKED)
    assert set(upload_of(str(checkout)).files) == {"code.py"}


def test_tracked_secrets_stay_here_and_keys_are_named(checkout: Path) -> None:
    write(checkout, *DOT_FILES, *KEYS)
    (checkout / "service.json").write_text(PRIVATE_KEY.replace("\n", "\\n"))
    git(checkout, "add", ".")
    upload = upload_of(str(checkout))
    assert set(upload.files) == {"code.py"}
    assert set(upload.keys) == {*KEYS, "service.json"}


def test_a_folder_that_the_user_names_brings_no_secrets(checkout: Path) -> None:
    write(checkout, "more/a.py", "more/.env", "more/id_rsa", "more/.kube/config")
    upload = upload_of(str(checkout), ["more"])
    assert set(upload.files) == {"code.py", "more/a.py"}
    assert upload.keys == ("more/id_rsa",)
    assert "more/id_rsa" in upload_of(str(checkout), ["more/id_rsa"]).files, "the file itself was named"


@pytest.mark.parametrize("kind", ["outside", "dot-file", "key", "untracked", "folder"])
def test_no_link_leads_to_what_is_not_sent(kind: str, checkout: Path) -> None:
    write(checkout, ".env", "id_rsa", "notes.txt")
    write(checkout.parent, "home/secret.txt")
    targets = {"outside": "../home/secret.txt", "dot-file": ".env", "key": "id_rsa", "untracked": "notes.txt"}
    (checkout / "innocent.txt").symlink_to(targets.get(kind, "../home"))
    git(checkout, "add", "innocent.txt")
    with pytest.raises(ConfigError, match=r"send innocent\.txt, a link to .*, which is not sent itself"):
        upload_of(str(checkout))


def test_a_tracked_folder_that_was_replaced_by_a_link(checkout: Path) -> None:
    write(checkout, "data/secret.txt")
    git(checkout, "add", "data/secret.txt")
    (checkout / "data").rename(checkout.parent / "data")
    (checkout / "data").symlink_to("../data")
    with pytest.raises(ConfigError, match=r"send data/secret\.txt, a link to"):
        upload_of(str(checkout))


def test_no_link_in_a_named_folder_leads_out(checkout: Path) -> None:
    write(checkout.parent, "home/secret.txt")
    (checkout / "more").mkdir()
    (checkout / "more" / "home").symlink_to("../../home")
    with pytest.raises(ConfigError, match="send more/home, a link to"):
        upload_of(str(checkout), ["more"])
    with pytest.raises(ConfigError, match=r"send more/home/secret\.txt, a link to"):
        upload_of(str(checkout), ["more/home/secret.txt"])


def test_a_repository_runs_no_program_while_its_files_are_listed(checkout: Path) -> None:
    program = checkout.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch {checkout.parent}/ran\n")
    program.chmod(0o755)
    git(checkout, "config", "core.fsmonitor", str(program))
    git(checkout, "config", "filter.x.clean", str(program))
    (checkout / ".gitattributes").write_text("* filter=x\n")
    (checkout / "code.py").write_text("edited")
    assert "code.py" in upload_of(str(checkout)).files
    assert not (checkout.parent / "ran").exists()
