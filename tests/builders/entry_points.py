"""A package that is installed as far as `importlib.metadata` sees: what it offers, and no code."""

from pathlib import Path


def installed(folder: Path, group: str, name: str, value: str) -> str:
    """Makes it in `folder`, which it returns, to stand on the path."""
    info = folder / f"{name}_package-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
    return str(folder)
