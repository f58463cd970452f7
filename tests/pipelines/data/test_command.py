"""`vtr data`: what it says of a data set is what is in it, and a damaged page is found."""

import json
from pathlib import Path

import pytest

from pipelines.cli import run
from pipelines.data import check, first_rows
from tests.builders.captioned import captioned_videos
from tests.builders.toy import Toy, toy_dataset, toy_videos
from vtr_core.data.manifest import Manifest

CLIPS = Toy().clips_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    toy_dataset(tmp_path / "clips")
    toy_videos(tmp_path / "split" / "train")
    return tmp_path


def test_rows_are_shown_as_they_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = first_rows(Manifest.load(str(folder / "clips")), 100)
    assert len(rows) == sum(CLIPS)
    assert {row["clip_id"]: row["has_audio"] for row in rows} == {
        f"v{v}:{c}": c % 3 == 0 for v, count in enumerate(CLIPS) for c in range(count)
    }
    run("data", ["show", str(folder / "clips"), "--rows", "2", "--json"])
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == rows[:2]


def test_captions_are_shown_as_they_are_and_do_not_control_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    captions = ["\x1b]0;owned\x07 \x1b[31mred \x9b2J", "[b]fine[/i] – é\nin two lines"]
    data = captioned_videos(tmp_path / "d", {"a": captions}).uri
    run("data", ["show", data])
    printed = capsys.readouterr().out
    assert "\\u001b[31mred" in printed
    assert "[b]fine[/i] – é" in printed
    assert all(line.isprintable() for line in printed.splitlines())
    assert not {"\x1b", "\x07", "\x9b"} & set(printed)


def test_a_damaged_page_is_found_and_the_rest_is_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = check(Manifest.load(str(folder / "clips")))
    assert (good.faults, good.rows) == ((), sum(CLIPS))
    shard = next((folder / "clips").glob("*.parquet"))
    content = bytearray(shard.read_bytes())
    content[40] ^= 0xFF
    shard.write_bytes(bytes(content))
    with pytest.raises(SystemExit) as end:
        run("data", ["check", str(folder / "clips"), "--json"])
    (checked,) = json.loads(capsys.readouterr().out)
    assert end.value.code == 1
    assert len(checked["faults"]) == 1
    assert 0 < checked["rows"] < sum(CLIPS)
