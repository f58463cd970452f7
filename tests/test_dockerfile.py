"""The image is made by the Makefile's steps, from files that exist."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_image_installs_as_the_makefile_does() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert "RUN make install" in lines
    assert not [line for line in lines if "pip install" in line]


def test_what_is_copied_is_there_and_enough_to_install() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = {name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]}
    assert all((ROOT / name).exists() for name in copied)
    assert copied >= {"pyproject.toml", "constraints.txt", "Makefile", "README.md", "vtr_core", "pipelines", "cluster"}
