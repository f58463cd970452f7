"""The demonstration's films, and what it leaves and says at its end."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from pipelines import demo as demo
from pipelines.demo import NUM_TEST, NUM_VALIDATION, DemoFlags, render
from tests.distribution.project import ROOT
from vtr_core.data.worlds.films import film, frames, sound
from vtr_core.errors import ConfigError


def test_films_are_told_by_their_captions() -> None:
    told = film(0, 3)
    pictures = [pixels for _, pixels in frames(told)]
    assert len(pictures) == 24
    assert told == film(0, 3)
    assert len({film(0, index).caption for index in range(700)}) == 700
    assert any((pixels == pixels.max(axis=(0, 1))).any() for pixels in pictures)
    assert abs(sound(told)).max() == pytest.approx(0.2, abs=1e-3)


def test_films_have_a_table_with_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "write_video", lambda path, *_: Path(path).write_bytes(b"a film"))
    table = render(tmp_path, NUM_TEST + NUM_VALIDATION + 2, seed=0)
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert Counter(row["split"] for row in rows) == {"train": 2, "val": NUM_VALIDATION, "test": NUM_TEST}
    assert all((tmp_path / row["video"]).stat().st_size for row in rows)


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
