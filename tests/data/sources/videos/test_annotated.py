"""Narrated videos with the published captions: which are listed, and how often the captions are read."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from vtr_core.data.sources.captioned_videos import annotated_videos
from vtr_core.data.sources.instructional import narration
from vtr_core.data.sources.json_members import Member, read_values
from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.video_files import Inventory
from vtr_core.storage import Location


@pytest.fixture
def films(tmp_path: Path) -> Inventory:
    (tmp_path / "films").mkdir()
    for name in ("a.mp4", "b.mp4"):
        (tmp_path / "films" / name).touch()
    return Inventory(str(tmp_path / "films"))


def test_narrations_of_videos_that_are_there_are_read_at_once(
    films: Inventory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def reading(location: Location, wanted: Sequence[Member]) -> Iterator[Any]:
        asked.append([member.name for member in wanted])
        return read_values(location, wanted)

    monkeypatch.setattr(narration, "read_values", reading)
    said = {"start": [0], "end": [9], "text": ["a dog"]}
    (tmp_path / "c.json").write_text(json.dumps({"a": said, "gone": {"start": 1}, "b": said}))
    drops = Drops()
    found = annotated_videos(films, "howto100m", str(tmp_path / "c.json"), drops)
    assert [(video.video_id, [row.clip_id for row in video.content.rows]) for video in found] == [
        ("a", ["a:0.0-9.0"]),
        ("b", ["b:0.0-9.0"]),
    ]
    assert asked == [["a", "b"]]
    assert drops.counts == {"missing_file": 1}


def test_untimed_captions_without_a_word_are_dropped(films: Inventory, tmp_path: Path) -> None:
    rows = [{"video_id": "a", "caption": caption} for caption in ("a dog", None, " ")]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, rows)))
    drops = Drops()
    (video,) = annotated_videos(films, "howto100m", str(tmp_path / "c.jsonl"), drops)
    assert [row.caption for row in video.content.rows] == ["a dog"]
    assert drops.counts == {"empty_caption": 2}
