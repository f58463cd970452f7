"""A checkout with data, runs and secrets in it: code goes to the cluster, nothing else does."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from cluster.runtime_env import EXCLUDES, check_upload, upload_sizes
from vtr_core.errors import ConfigError

CODE = [
    "pyproject.toml",
    "pipelines/train/command.py",
    "vtr_core/data/plan.py",
    "vtr_core/run/build.py",
]
OTHER = [
    ".git/config",
    ".venv/bin/python",
    "data/howto/manifest.json",
    "runs/first/config.json",
    "mlruns/1/meta.yaml",
    "mlflow.db",
    "mlflow.db-journal",
    "shards/0.bin",
    "vtr_core/data/__pycache__/plan.pyc",
    "notes/features.npy",
    "notes/rows.parquet",
    "notes/model.safetensors",
    "ignored/by_git.txt",
    ".env",
    "keys/server.pem",
    ".aws/credentials",
    ".gitignore",
    ".envrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".docker/config.json",
    ".kube/config",
    ".config/gcloud/credentials.db",
    ".huggingface/token",
    "keys/id_rsa",
    "keys/id_ed25519",
    "keys/me.p12",
    "infra/terraform.tfstate",
    "infra/terraform.tfstate.backup",
    "nested/.venv-other/lib/code.py",
]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in (*CODE, *OTHER):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * 1000)
    (tmp_path / ".gitignore").write_bytes(b"ignored/\n".ljust(1000, b"#"))
    return tmp_path


def test_the_package_that_ray_makes_holds_the_code_alone(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from ray._private.runtime_env.packaging import create_package

    target = tmp_path_factory.mktemp("package") / "code.zip"
    create_package(str(checkout), target, include_gitignore=True, excludes=list(EXCLUDES))
    with ZipFile(target) as archive:
        assert sorted(name for name in archive.namelist() if not name.endswith("/")) == sorted(CODE)


def test_sizes_are_those_of_the_package(checkout: Path) -> None:
    sizes = upload_sizes(str(checkout))
    assert sum(sizes.values()) == 1000 * len(CODE)
    assert sizes["vtr_core/data"] == 1000
    assert sizes["pyproject.toml"] == 1000


def test_too_much_names_the_biggest_folders(checkout: Path) -> None:
    (checkout / "experiments" / "a").mkdir(parents=True)
    (checkout / "experiments" / "a" / "big.bin").write_bytes(bytes(3_000_000))
    check_upload(str(checkout), limit_mb=4)
    with pytest.raises(ConfigError, match=r"3 MB, more than 2 MB; biggest: experiments/a 3 MB, .*\.rayignore"):
        check_upload(str(checkout), limit_mb=2)
    (checkout / ".rayignore").write_text("experiments\n")
    check_upload(str(checkout), limit_mb=2)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a folder"):
        check_upload(str(tmp_path / "none"))


def test_no_pattern_ends_in_a_slash() -> None:
    """Ray would walk through such a folder, file by file."""
    assert not [pattern for pattern in EXCLUDES if pattern.endswith("/")]


def test_plain_ray_job_submit_leaves_the_same_here() -> None:
    lines = (Path(__file__).parents[2] / ".rayignore").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == list(EXCLUDES)


def test_a_link_out_of_the_folder_is_refused(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("home") / "secret.txt"
    secret.write_text("secret")
    (checkout / "pipelines" / "inside.py").symlink_to(checkout / "pyproject.toml")
    check_upload(str(checkout))
    (checkout / "pipelines" / "notes.txt").symlink_to(secret)
    with pytest.raises(ConfigError, match=r"pipelines/notes\.txt, a link to .*secret\.txt, which is not in it"):
        check_upload(str(checkout))
