"""Where a result came from: code, versions, machine."""

import os
import platform
import subprocess
from importlib import metadata

_PACKAGES = ("ray", "torch", "pyarrow", "mlflow", "numpy")


def provenance() -> dict[str, str]:
    """Git commit and branch of the working directory, versions of what numbers depend on, the machine."""
    versions = {f"version.{name}": metadata.version(name) for name in _PACKAGES}
    return {
        **git_tags(),
        "version.vtr": metadata.version("vtr"),
        "version.python": platform.python_version(),
        **versions,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def git_tags() -> dict[str, str]:
    """`git.commit` (with `-dirty` where files were changed) and `git.branch`, where there is a repository.

    A submitted job has no repository: whoever submits it sets VTR_GIT_COMMIT and VTR_GIT_BRANCH.
    """
    commit = os.environ.get("VTR_GIT_COMMIT") or _commit()
    branch = os.environ.get("VTR_GIT_BRANCH") or _git("rev-parse", "--abbrev-ref", "HEAD")
    return {name: value for name, value in (("git.commit", commit), ("git.branch", branch)) if value}


def _commit() -> str:
    commit = _git("rev-parse", "HEAD")
    dirty = _git("status", "--porcelain", "--untracked-files=no")
    return f"{commit}-dirty" if commit and dirty else commit


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
