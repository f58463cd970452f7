"""Provenance of a result: code, versions, machine."""

import os
import platform
import subprocess
from importlib import metadata

import vtr_core
from vtr_core.ray_private import submission_id

_PACKAGES = ("ray", "torch", "pyarrow", "mlflow", "numpy")


def provenance() -> dict[str, str]:
    """Git commit and branch of the working directory, versions that results depend on, the machine, Ray's job."""
    versions = {f"version.{name}": metadata.version(name) for name in _PACKAGES}
    return {
        **git_tags(),
        **job_tags(),
        "version.vtr": vtr_core.__version__,
        "version.python": platform.python_version(),
        **versions,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def git_tags(folder: str = ".") -> dict[str, str]:
    """`git.commit` (with `-dirty` where files were changed) and `git.branch`, where `folder` is in a repository.

    A submitted job has no repository: whoever submits it sets VTR_GIT_COMMIT and VTR_GIT_BRANCH.
    """
    commit = os.environ.get("VTR_GIT_COMMIT") or _commit(folder)
    branch = os.environ.get("VTR_GIT_BRANCH") or _git(folder, "rev-parse", "--abbrev-ref", "HEAD")
    return {name: value for name, value in (("git.commit", commit), ("git.branch", branch)) if value}


def job_tags() -> dict[str, str]:
    """`ray.submission_id`, where this is a job that was submitted to Ray."""
    told = submission_id(os.environ)
    return {} if told is None else {"ray.submission_id": told}


def _commit(folder: str) -> str:
    commit = _git(folder, "rev-parse", "HEAD")
    dirty = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return f"{commit}-dirty" if commit and dirty else commit


def _git(folder: str, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
