"""What a job gets of a folder: the files that git tracks, as they are on disk, and those that the user names."""

import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest

from cluster.upload import upload_of
from tests.distribution.project import ROOT
from vtr_core.errors import ConfigError

CODE = {"pyproject.toml", "pipelines/train/command.py", "vtr_core/data/plan.py", "vtr_core/text/weights.npy"}


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository whose code is tracked."""
    write(tmp_path, *CODE)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    return tmp_path


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)


def names(folder: Path, *include: str) -> set[str]:
    return set(upload_of(str(folder), include).files)


def test_tracked_files_are_sent_as_they_are_on_disk(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (checkout / "pyproject.toml").write_text("edited")
    (checkout / "vtr_core" / "data" / "plan.py").unlink()
    (checkout / "pipelines" / "train" / "command.py").chmod(0o755)
    first, second = (tmp_path_factory.mktemp("packed") / "code.zip" for _ in range(2))
    upload_of(str(checkout)).pack(first)
    with ZipFile(first) as archive:
        assert set(archive.namelist()) == CODE - {"vtr_core/data/plan.py"}
        assert archive.read("pyproject.toml") == b"edited"
        assert archive.getinfo("pipelines/train/command.py").external_attr >> 16 & 0o777 == 0o755
    (checkout / "pyproject.toml").touch()
    upload_of(str(checkout)).pack(second)
    assert first.read_bytes() == second.read_bytes(), "Ray would take the same code twice"


def test_what_is_untracked_is_named_python_files_first(checkout: Path) -> None:
    (checkout / ".gitignore").write_text("runs\n")
    write(checkout, "notes.txt", "vtr_core/new.py", "experiment/a.py", "runs/a/config.json", ".cache/x")
    upload = upload_of(str(checkout))
    assert set(upload.files) == CODE
    assert upload.untracked == ("experiment/", "vtr_core/new.py", "notes.txt")
    with_new = upload_of(str(checkout), ["vtr_core/new.py", "experiment"])
    assert set(with_new.files) == CODE | {"vtr_core/new.py", "experiment/a.py"}
    assert with_new.untracked == ("notes.txt",)


def test_a_folder_that_is_named_goes_without_hidden_files_and_environments(checkout: Path) -> None:
    (checkout / ".gitignore").write_text("data\n")
    kept = {"data/a.csv", "data/deep/b.bin"}
    write(checkout, *kept, "data/.env", "data/venv/pyvenv.cfg", "data/venv/bin/x", "data/__pycache__/a.pyc")
    assert names(checkout, "data") == CODE | kept
    assert names(checkout, "data", "data/.env") == CODE | kept | {"data/.env"}


def test_outside_a_repository_the_user_says_what_is_sent(tmp_path: Path) -> None:
    write(tmp_path, "code/a.py", "notes.txt", ".netrc")
    with pytest.raises(ConfigError, match=r"which files of .* \(not a git repository.*\): .* --include \. is all"):
        upload_of(str(tmp_path))
    assert names(tmp_path, "code") == {"code/a.py"}
    assert names(tmp_path, ".") == {"code/a.py", "notes.txt"}


def test_a_folder_within_a_repository(checkout: Path) -> None:
    write(checkout, "vtr_core/new.py")
    upload = upload_of(str(checkout / "vtr_core"))
    assert set(upload.files) == {"data/plan.py", "text/weights.npy"}
    assert upload.untracked == ("new.py",)


def test_links_are_sent_as_the_files_that_they_lead_to(checkout: Path, tmp_path: Path) -> None:
    (checkout / "plan.py").symlink_to("vtr_core/data/plan.py")
    (checkout / "library").symlink_to("vtr_core")
    git(checkout, "add", "plan.py", "library")
    files = upload_of(str(checkout)).files
    assert set(files) == CODE | {"plan.py", "library/data/plan.py", "library/text/weights.npy"}
    assert files["plan.py"] == files["library/data/plan.py"] == tmp_path / "vtr_core" / "data" / "plan.py"


def test_too_much_names_the_largest_folders(checkout: Path) -> None:
    write(checkout, "experiments/a/large.bin")
    (checkout / "experiments" / "a" / "large.bin").write_bytes(bytes(3_000_000))
    git(checkout, "add", ".")
    upload_of(str(checkout), limit_mb=4)
    with pytest.raises(ConfigError, match=r"3 MB, more than 2 MB; largest: experiments/a 3 MB, .*\.rayignore"):
        upload_of(str(checkout), limit_mb=2)
    (checkout / ".rayignore").write_text("/experiments\n*.npy\n")
    assert set(upload_of(str(checkout), limit_mb=2).files) == CODE - {"vtr_core/text/weights.npy"}


@pytest.mark.linux
def test_a_name_that_is_not_utf_8(checkout: Path) -> None:
    (checkout / "caf\udce9.py").touch()
    git(checkout, "add", ".")
    with pytest.raises(ConfigError, match=r"send caf\\udce9\.py, whose name is not UTF-8; rename it"):
        upload_of(str(checkout))


@pytest.mark.parametrize("include", ["../x", "/etc/passwd", "none.txt"])
def test_files_that_are_not_in_the_folder(include: str, checkout: Path) -> None:
    with pytest.raises(ConfigError, match=f"--include {include} is no file or folder in"):
        upload_of(str(checkout), [include])


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a folder"):
        upload_of(str(tmp_path / "none"))


PACKAGES = ("vtr_core", "pipelines", "cluster", "tune_spaces")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no repository says which files are the project's")
def test_all_of_the_packages_goes_to_the_cluster() -> None:
    """The classes of the bundled encoder were missing: *.npy is data elsewhere."""
    listed = subprocess.run(["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
    assert tracked <= set(upload_of(str(ROOT)).files)
