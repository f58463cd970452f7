"""Where a result came from: code, versions, machine."""

import json
import os
import platform
import subprocess
from importlib import metadata

_PACKAGES = ("ray", "torch", "pyarrow", "mlflow", "numpy")


def provenance() -> dict[str, str]:
    """Git commit and branch of the working directory, versions of what numbers depend on, the machine, Ray's job."""
    versions = {f"version.{name}": metadata.version(name) for name in _PACKAGES}
    return {
        **git_tags(),
        **job_tags(),
        "version.vtr": _own_version(),
        "version.python": platform.python_version(),
        **versions,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _own_version() -> str:
    """The installed package's version; nodes that run an uploaded checkout may have only what it depends on."""
    try:
        return metadata.version("vtr-ray")
    except metadata.PackageNotFoundError:
        return "not installed"


def git_tags(folder: str = ".") -> dict[str, str]:
    """`git.commit` (with `-dirty` where files were changed) and `git.branch`, where `folder` is in a repository.

    A submitted job has no repository: whoever submits it sets VTR_GIT_COMMIT and VTR_GIT_BRANCH.
    """
    commit = os.environ.get("VTR_GIT_COMMIT") or _commit(folder)
    branch = os.environ.get("VTR_GIT_BRANCH") or _git(folder, "rev-parse", "--abbrev-ref", "HEAD")
    return {name: value for name, value in (("git.commit", commit), ("git.branch", branch)) if value}


def job_tags() -> dict[str, str]:
    """`ray.submission_id`, where this is a job that was submitted to Ray, which tells its driver in a variable."""
    try:
        told = json.loads(os.environ.get("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}"))
        return {"ray.submission_id": str(told["metadata"]["job_submission_id"])}
    except (ValueError, KeyError, TypeError):
        return {}


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
