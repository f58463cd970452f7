"""What the demonstration leaves and says at its end."""

import re
from pathlib import Path

import pytest

from pipelines import demo as demo
from pipelines.demo import DemoFlags
from tests.distribution.project import ROOT
from vtr_core.errors import ConfigError


def test_too_few_films_are_refused() -> None:
    with pytest.raises(ConfigError, match="--films is 100; 140 at least"):
        demo.demo(DemoFlags(films=100))


@pytest.mark.long
@pytest.mark.integration
def test_the_demonstration_finds_unseen_films(
    tmp_path: Path, own_tracking_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Trained, far more of them than by the encoder alone, which never saw drawn shapes named."""
    demo.demo(DemoFlags(films=180, data=str(tmp_path / "data"), out=str(tmp_path / "run")))
    said = capsys.readouterr().out
    before, after = (float(r10) for *_, r10 in re.findall(r"text → video" + r"\D+([\d.]+)" * 5, said))
    assert after > before
    assert after >= 45, said  # chance: 17
    assert "film" in said.partition("5/5")[2]
    assert (tmp_path / "run" / "hits.html").read_text().count("data:image/jpeg;base64,") == 3
    readme = (ROOT / "README.md").read_text()
    commands = ("index", "search", "extract", "train", "evaluate")
    assert all(f"vtr {command} " in said and f"vtr {command} " in readme for command in commands)
