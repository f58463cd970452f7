"""Narration from files, and clips of it."""

import json
import random

import pytest

from tests.reference.narration import published_clip
from vtr_core.data.sources.instructional import narration as segments
from vtr_core.data.sources.instructional.narration import Narration, read_all, read_narrations, usable, video_ids
from vtr_core.data.sources.published_captions import read_values
from vtr_core.data.sources.source import Drops
from vtr_core.errors import InputError, VtrError

ROWS = {"b": [(0, 2.5, "cut it"), (3, 4, "stir")], "a": [(1, 2, "fold")]}


def as_csv(path):
    lines = [f"{video},{start},{end},{text}" for video, rows in ROWS.items() for start, end, text in rows]
    path.write_text("video_id,start,end,text\n" + "\n".join([lines[0], lines[2], lines[1]]))


def as_json(path):
    keys = ("start", "end", "text")
    content = {v: dict(zip(keys, map(list, zip(*rows, strict=True)), strict=True)) for v, rows in ROWS.items()}
    path.write_text(json.dumps(content))


def as_folder(path):
    path.mkdir()
    for video, rows in ROWS.items():
        lines = [f"{i},{start},{end},{text}" for i, (start, end, text) in enumerate(rows)]
        (path / f"{video}.csv").write_text("\n".join([",start,end,text", *lines]))


@pytest.mark.parametrize("write", [as_csv, as_json, as_folder])
def test_every_form_gives_the_same_rows(tmp_path, write):
    path = tmp_path / ("captions" + {as_csv: ".csv", as_json: ".json", as_folder: ""}[write])
    write(path)
    result = {
        video: [(float(s), float(e), t) for s, e, t in narration.read()]
        for video, narration in read_narrations(str(path))
    }
    assert result == ROWS
    assert set(video_ids(str(path))) == set(ROWS)


def test_captions_without_times_are_of_whole_videos(tmp_path):
    (tmp_path / "c.csv").write_text("video_id,caption\nv1,a dog\nv2,a cat\nv1,a big dog\n")
    narrations = dict(read_narrations(str(tmp_path / "c.csv")))
    assert not narrations["v1"].timed
    assert narrations["v1"].read() == ((None, None, "a dog"), (None, None, "a big dog"))


LIST = {"start": [0], "end": [1], "text": ["a"]}
FAULTS = {
    "other columns": ("c.csv", "id,begin,text\n", r"columns id, begin, text; it needs video_id, start, end, text, or"),
    "no end": ("c.csv", "video_id,start,text\nv,1,a\n", r"columns video_id, start, text; it needs"),
    "neither form": ("c.csv", "video_id,end,caption\nv,1,a\n", r"columns video_id, end, caption; it needs"),
    "not JSON": ("c.json", "{", "not valid JSON"),
    "a list": ("c.json", "[]", r"c\.json must be an object of objects"),
    "no times": ("c.json", json.dumps({"v": {"text": ["a"]}}), r"video v: it must be"),
    "lists of other lengths": ("c.json", json.dumps({"v": LIST, "w": {**LIST, "end": []}}), r"video w: it must be"),
    "a video twice": ("c.json", f'{{"v": {json.dumps(LIST)}, "v": {json.dumps(LIST)}}}', "has the video v twice"),
    "a row without a video": ("c.csv", "video_id,caption\n,a dog\n", r"c\.csv, row 1, column video_id: it is empty"),
    "a video that is no object": ("c.json", json.dumps({"v": [1]}), r"c\.json, v: it must be an object"),
}


@pytest.mark.parametrize(("name", "content", "message"), FAULTS.values(), ids=FAULTS)
def test_files_of_another_form_are_errors(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(VtrError, match=message):
        [narration.read() for _, narration in read_narrations(str(tmp_path / name))]


def test_missing_files_and_empty_folders_are_errors(tmp_path):
    with pytest.raises(InputError, match="there is no captions file or folder"):
        list(read_narrations(str(tmp_path / "none.csv")))
    with pytest.raises(InputError, match="holds no captions"):
        list(read_narrations(str(tmp_path)))


def test_narrations_that_follow_each_other_are_read_together(tmp_path, monkeypatch):
    as_json(tmp_path / "c.json")
    narrations = [narration for _, narration in read_narrations(str(tmp_path / "c.json"))]
    read = []
    monkeypatch.setattr(
        "vtr_core.data.sources.instructional.narration.read_values",
        lambda file, expected: read.append(len(expected)) or read_values(file, expected),
    )
    settings = Narration(((0, 1, "x"),))
    assert [list(rows) for rows in read_all([*narrations, settings, *narrations])] == [
        *ROWS.values(),
        [(0, 1, "x")],
        *ROWS.values(),
    ]
    assert read == [2, 2]


def Segment(start, end, text):  # noqa: N802
    return segments.Segment(float(start), float(end), text)


def merge(rows, min_time):
    return segments.merge(rows, float(min_time))


SEGMENT_FAULTS = {
    "end before start": ((3, 2, "a"), "end_before_start", "v7, from 3 to 2 s"),
    "no length": ((3, 3, "a"), "end_before_start", "must come after"),
    "negative": ((-1, 3, "a"), "bad_time", "seconds from 0 on"),
    "NaN": ((float("nan"), 3, "a"), "bad_time", "seconds from 0 on"),
    "endless": ((0, float("inf"), "a"), "bad_time", "seconds from 0 on"),
    "not a number": (("0:12", 3, "a"), "bad_time", "from 0:12 to 3"),
    "no time": ((None, 3, "a"), "bad_time", "seconds from 0 on"),
    "no caption": ((0, 3, ""), "empty_caption", "holds no word"),
    "no word": ((0, 3, " -- "), "empty_caption", "holds no word"),
    "NaN for a caption": ((0, 3, float("nan")), "empty_caption", "the caption nan"),
    "the same again": ((1, 2, "good"), "duplicate_id", "the same row again"),
}


@pytest.mark.parametrize(("row", "reason", "message"), SEGMENT_FAULTS.values(), ids=SEGMENT_FAULTS)
def test_rows_at_fault_are_dropped_counted_and_named(row, reason, message):
    drops = Drops()
    assert usable([(1, 2, "good"), row], "v7", drops) == [Segment(1, 2, "good")]
    assert drops.counts == {reason: 1}
    assert message in drops.examples[reason][0]
    with pytest.raises(InputError, match=reason):
        usable([(1, 2, "good"), row], "v7", Drops(strict=True))


@pytest.mark.parametrize("text", [5, ["a", "b"], {"en": "a"}, True])
def test_a_caption_that_is_no_text_is_named(text):
    with pytest.raises(InputError, match=r"c, from 0 to 3 s: .* is no text but (int|list|dict|bool)"):
        usable([(0, 3, text)], "c", Drops())


def test_captions_are_joined_until_they_last_long_enough():
    rows = [
        Segment(0, 2, " a"),
        Segment(2, 4, "b "),
        Segment(4, 6, "c"),
        Segment(10, 20, "d"),
        Segment(21, 22, "e"),
    ]
    assert merge(rows, 5) == [Segment(0, 6, "a b c"), Segment(10, 22, "d e")]
    assert merge(rows, 0) == [Segment(s.start, s.end, s.text.strip()) for s in rows]
    assert merge(rows, 1000) == [Segment(0, 22, "a b c d e")]
    assert merge([], 5) == []


def test_every_caption_is_in_one_clip_and_every_clip_but_a_lone_one_is_long_enough():
    rng = random.Random(0)
    for _ in range(300):
        starts = sorted(rng.uniform(0, 60) for _ in range(rng.randrange(1, 12)))
        rows = [Segment(start, start + rng.uniform(0.1, 8), f"w{i}") for i, start in enumerate(starts)]
        clips = merge(rows, 5.0)
        assert " ".join(clip.text for clip in clips) == " ".join(segment.text for segment in rows)
        assert len(clips) == 1 or all(clip.end - clip.start >= 5 for clip in clips)


@pytest.mark.parametrize("seed", range(20))
def test_published_clips_equal_the_reference(seed):
    draw = random.Random(seed)
    starts = sorted(draw.choice([draw.uniform(0, 60), float(draw.randrange(60))]) for _ in range(draw.randrange(1, 30)))
    rows = [Segment(start, start + draw.uniform(0.1, 6), f"w{i}") for i, start in enumerate(starts)]
    min_time = draw.choice([2.0, 5.0, 10.0])
    texts = [(s.start, s.end, s.text) for s in rows]
    expected = [published_clip(texts, own, min_time) for own in range(len(rows))]
    assert [(s.start, s.end, s.text) for s in segments.overlapping(rows, min_time)] == expected
