"""The uploaded files of a submitted job, and their total size."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from vtr_core.errors import ConfigError
from vtr_core.ray_private import uploaded

EXCLUDES = (
    ".git",
    ".venv*",
    "venv",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
    "*.egg-info",
    "node_modules",
    "/build",
    "/dist",
    "/data",
    "/datasets",
    "/features",
    "/shards",
    "/runs",
    "/mlruns",
    "/mlartifacts",
    "mlflow.db*",
    "*.parquet",
    "*.npy",
    "*.npz",
    "*.h5",
    "*.hdf5",
    "*.pt",
    "*.pth",
    "*.ckpt",
    "*.safetensors",
    "*.mp4",
    ".env",
    ".env.*",
    ".netrc",
    ".aws",
    ".ssh",
    ".ray",
    "*.pem",
    "*.key",
)
"""Patterns, as in .gitignore, of files that are never uploaded: histories, environments, data, runs, secrets.

A leading slash stands for the uploaded folder, so that vtr_core/data is included. No pattern ends in a slash: Ray
would then traverse the whole folder.
"""
LIMIT_MB = 100
"""Limit of an upload. Code is far smaller; Ray keeps uploads in the head node's memory, and refuses 512 MiB."""
_NAMED = 5


def check_upload(folder: str, limit_mb: float = LIMIT_MB) -> None:
    """ConfigError where `folder` does not exist, or where more than `limit_mb` would be uploaded; names the largest
    folders."""
    if not Path(folder).is_dir():
        raise ConfigError(f"--working-dir {folder} is not a folder")
    sizes = upload_sizes(folder)
    total = sum(sizes.values())
    if total > limit_mb * 1e6:
        biggest = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in sizes.most_common(_NAMED))
        raise ConfigError(
            f"{folder} would upload {total / 1e6:.0f} MB, more than {limit_mb:g} MB; biggest: {biggest}. Name what the "
            "job does not need in .gitignore or .rayignore, or give another --working-dir"
        )


def upload_sizes(folder: str, excludes: Sequence[str] = EXCLUDES) -> "Counter[str]":
    """Bytes that Ray would upload of `folder`, per folder of the first two levels."""
    root = Path(folder).absolute()
    sizes: Counter[str] = Counter()

    for path in uploaded(root, excludes):
        if path.is_file():
            inside = path.relative_to(root).parts
            sizes["/".join(inside[:-1][:2]) or inside[0]] += path.stat().st_size
    return sizes
