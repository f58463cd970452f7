"""Build wheels of mamba-ssm and causal-conv1d for one GPU architecture: `make mamba-wheels CUDA_ARCH=90`.

Both are published as sources only, whose setup.py compiles for nine architectures and ignores TORCH_CUDA_ARCH_LIST.
A copy of setup.py without the other architectures compiles in minutes instead of hours. Requires the torch that the
wheels will run with and the nvcc of its CUDA major version (CUDA_HOME), but no GPU. Run from the repository.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from vtr_core.errors import ClusterError

SOURCES = Path("requirements") / "mamba-sources.txt"
"""Versions and hashes of the sources. The Makefile installs their build dependencies, from mamba.txt beside it."""
DOWNLOAD = {"MAMBA_SKIP_CUDA_BUILD": "TRUE", "CAUSAL_CONV1D_SKIP_CUDA_BUILD": "TRUE"}
BUILD = {"MAMBA_KEEP_CUDA_BUILD": "TRUE", "MAMBA_FORCE_BUILD": "TRUE", "CAUSAL_CONV1D_FORCE_BUILD": "TRUE"}
"""Environment variables that force compilation, instead of a download of wheels for another torch."""
_PIP = (sys.executable, "-m", "pip")
_TARGET = re.compile(
    r'^(?P<indent> +)cc_flag\.append\("-gencode"\)\n'
    r' +cc_flag\.append\("arch=compute_(?P<architecture>\w+),code=sm_\w+"\)\n',
    re.MULTILINE,
)


def only(architecture: str, setup: str) -> str:
    """A setup.py changed to compile for one architecture, such as 90 for H100; ClusterError where it names none."""
    named = [target["architecture"] for target in _TARGET.finditer(setup)]
    if architecture not in named:
        raise ClusterError(
            f"no architecture {architecture!r} in setup.py, it compiles for {', '.join(named) or 'none'}"
        )
    # `pass`, since some branches consist of targets only
    return _TARGET.sub(
        lambda target: target[0] if target["architecture"] == architecture else f"{target['indent']}pass\n", setup
    )


def download_command(folder: Path) -> list[str]:
    """The command that downloads the sources into `folder`, without pip's cache, which may hold wheels without CUDA.

    Build isolation is off: it would install a torch without CUDA.
    """
    isolation = ("--no-build-isolation", "--no-cache-dir", "--no-deps", "--no-binary=:all:")
    return [*_PIP, "download", *isolation, f"--dest={folder}", "--require-hashes", f"--requirement={SOURCES}"]


def build_command(source: Path, out: Path) -> list[str]:
    """The command that builds the wheel of an unpacked source."""
    return [*_PIP, "wheel", "--no-build-isolation", "--no-cache-dir", "--no-deps", f"--wheel-dir={out}", str(source)]


def sources(architecture: str, folder: Path) -> list[Path]:
    """Download and unpack the sources, with setup.py changed to the one architecture."""
    subprocess.run(download_command(folder), check=True, env={**os.environ, **DOWNLOAD})
    folders = []
    for archive in sorted(folder.glob("*.tar.gz")):
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        source = folder / archive.name.removesuffix(".tar.gz")
        setup = source / "setup.py"
        setup.write_text(only(architecture, setup.read_text()))
        folders.append(source)
    return folders


def build(architecture: str, out: Path) -> None:
    """Build all wheels into `out`."""
    with tempfile.TemporaryDirectory() as folder:
        for source in sources(architecture, Path(folder)):
            subprocess.run(build_command(source, out), check=True, env={**os.environ, **BUILD})


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m cluster.mamba_wheels", description=__doc__.splitlines()[0])
    parser.add_argument("--architecture", default="90", help="compute capability without its dot: 80 A100, 90 H100")
    parser.add_argument("--out", type=Path, default=Path("wheels"), help="folder of the wheels")
    chosen = parser.parse_args(argv)
    build(chosen.architecture, chosen.out)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ClusterError as error:
        sys.exit(f"{type(error).__name__}: {error}")
