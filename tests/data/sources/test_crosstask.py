"""CrossTask: tasks in blocks, a list of videos, and segments by step number."""

from pathlib import Path

import numpy as np
import pytest

from vtr_core.data.records.arrays import TimedLabel
from vtr_core.data.sources.instructional.annotated_steps import CrossTask, read_tasks
from vtr_core.data.sources.source import Drops, StepSource
from vtr_core.errors import InputError
from vtr_core.storage import locate

PRIMARY = "23521\nMake Jello Shots\nhttps://x/a\n3\npour water,stir mixture, pour alcohol\n\n"
RELATED = "7\nMake Tea\nhttps://x/b\n2\nboil water,boil water\n"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    (tmp_path / "tasks_primary.txt").write_text(PRIMARY)
    (tmp_path / "tasks_related.txt").write_text(RELATED)
    (tmp_path / "videos_val.csv").write_text("23521,abc,https://y/1\n7,abc,https://y/1\n23521,none,https://y/2\n")
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations" / "23521_abc.csv").write_text("2,5.5,9.25\n1,0,4\n2,12,13\n")
    (tmp_path / "annotations" / "7_abc.csv").write_text("2,1,2\n")
    (tmp_path / "annotations" / "23521_none.csv").write_text("3,1,2\n")
    (tmp_path / "f").mkdir()
    np.save(tmp_path / "f" / "abc.npy", np.ones((15, 4)))
    return tmp_path


def source(release: Path) -> CrossTask:
    return CrossTask(annotations=str(release), video_features=str(release / "f"))


def test_videos_have_all_steps_of_their_task(release: Path) -> None:
    crosstask = source(release)
    assert isinstance(crosstask, StepSource)
    entries = crosstask.videos(Drops(strict=True))
    assert [entry.video_id for entry in entries] == ["23521_abc", "7_abc", "23521_none"]
    assert list(crosstask.captions(entries)) == [
        "pour water",
        "stir mixture",
        "pour alcohol",
        "boil water",
        "boil water",
    ]
    first, second = (crosstask.step_video(entry, Drops(strict=True)) for entry in entries[:2])
    assert first is not None
    assert second is not None
    assert (first.task, list(first.steps)) == ("23521 Make Jello Shots", ["pour water", "stir mixture", "pour alcohol"])
    assert list(first.labels) == ["1", "2", "3"]
    assert list(first.segments) == [TimedLabel(0.0, 4.0, "1"), TimedLabel(5.5, 9.25, "2"), TimedLabel(12.0, 13.0, "2")]
    assert first.features["video"].shape == (15, 4)
    assert list(second.labels) == ["1", "2"], "steps of one text stay two"


def test_broken_lines_are_named(release: Path) -> None:
    (release / "videos_val.csv").write_text("23521,abc,u\n23521,abc,u\n99,abc,u\njust one\n\n23521,a/b,u\n7,abc,u\n")
    lines = "1,2,1\n4,0,1\n0,0,1\n1.5,0,1\n1,x,2\n1,2\n1,-1,2\n1,0,inf\n\n1,3,4\n"
    (release / "annotations" / "23521_abc.csv").write_text(lines)
    (release / "annotations" / "7_abc.csv").unlink()
    crosstask, drops = source(release), Drops()
    entries = crosstask.videos(drops)
    assert [entry.video_id for entry in entries] == ["23521_abc", "7_abc"]
    assert drops.counts == {"duplicate_id": 1, "unknown_step": 1, "bad_line": 1, "unsafe_id": 1}
    drops = Drops()
    video = crosstask.step_video(entries[0], drops)
    assert video is not None
    assert list(video.segments) == [TimedLabel(3.0, 4.0, "1")]
    assert drops.counts == {"end_before_start": 1, "unknown_step": 3, "bad_line": 2, "bad_time": 2}
    assert "23521_abc.csv, line 2: step 4 is none of the 3" in drops.examples["unknown_step"][0]
    drops = Drops()
    assert crosstask.step_video(entries[1], drops) is None
    assert drops.counts == {"missing_file": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (PRIMARY.replace("\n3\n", "\n4\n"), r"line 4: the task 23521 has '4' steps, but the line after names 3"),
        (PRIMARY.replace("\n3\n", "\nmany\n"), "line 4: the task 23521 has 'many' steps"),
        (PRIMARY.replace("pour water,", "pour water,,"), "names 4"),
        (PRIMARY + "7\nMake Tea\n", "line 7: the last task needs id, title, URL"),
        (PRIMARY + PRIMARY, "line 7: the task 23521 is there twice"),
    ],
)
def test_blocks_that_are_none(release: Path, content: str, message: str) -> None:
    (release / "tasks_primary.txt").write_text(content)
    with pytest.raises(InputError, match=message):
        read_tasks(locate(str(release / "tasks_primary.txt")))


def test_a_folder_that_is_no_release(tmp_path: Path) -> None:
    crosstask = source(tmp_path)
    with pytest.raises(InputError, match=r"there is no file .*videos_val\.csv"):
        crosstask.videos(Drops())
    (tmp_path / "videos_val.csv").write_text("1,a,u\n")
    with pytest.raises(InputError, match=r"holds none of tasks_primary\.txt, tasks_related\.txt"):
        crosstask.videos(Drops())
