import json

import pytest

from vtr_core.data.sources.instructional.narration import Narration, read_all, read_narrations, video_ids
from vtr_core.data.sources.json_members import read_values
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
    found = {
        video: [(float(s), float(e), t) for s, e, t in narration.read()]
        for video, narration in read_narrations(str(path))
    }
    assert found == ROWS
    assert set(video_ids(str(path))) == set(ROWS)


def test_captions_without_times_are_of_whole_videos(tmp_path):
    (tmp_path / "c.csv").write_text("video_id,caption\nv1,a dog\nv2,a cat\nv1,a big dog\n")
    found = dict(read_narrations(str(tmp_path / "c.csv")))
    assert not found["v1"].timed
    assert found["v1"].read() == ((None, None, "a dog"), (None, None, "a big dog"))


def test_a_table_alone_may_be_without_rows(tmp_path):
    (tmp_path / "c.csv").write_text("video_id,caption\n")
    assert list(read_narrations(str(tmp_path / "c.csv"))) == []


LIST = {"start": [0], "end": [1], "text": ["a"]}
FAULTS = {
    "other columns": ("c.csv", "id,begin,text\n", r"columns id, begin, text; it needs video_id, start, end, text, or"),
    "no end": ("c.csv", "video_id,start,text\nv,1,a\n", r"columns video_id, start, text; it needs"),
    "neither form": ("c.csv", "video_id,end,caption\nv,1,a\n", r"columns video_id, end, caption; it needs"),
    "not JSON": ("c.json", "{", "not valid JSON"),
    "a list": ("c.json", "[]", r"c\.json must be an object of objects"),
    "no times": ("c.json", json.dumps({"v": {"text": ["a"]}}), r"video v: it must be"),
    "lists of other lengths": ("c.json", json.dumps({"v": LIST, "w": {**LIST, "end": []}}), r"video w: it must be"),
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


def test_a_file_in_a_folder_with_other_columns_is_named(tmp_path):
    (tmp_path / "v.csv").write_text("start,end\n1,2\n")
    (_, narration), *_ = read_narrations(str(tmp_path))
    with pytest.raises(InputError, match=r"v\.csv has the columns start, end; it needs start, end, text"):
        narration.read()


def test_narrations_that_follow_each_other_are_read_together(tmp_path, monkeypatch):
    as_json(tmp_path / "c.json")
    found = [narration for _, narration in read_narrations(str(tmp_path / "c.json"))]
    read = []
    monkeypatch.setattr(
        "vtr_core.data.sources.instructional.narration.read_values",
        lambda file, wanted: read.append(len(wanted)) or read_values(file, wanted),
    )
    given = Narration(((0, 1, "x"),))
    assert [list(rows) for rows in read_all([*found, given, *found])] == [*ROWS.values(), [(0, 1, "x")], *ROWS.values()]
    assert read == [2, 2]


def test_the_last_of_a_video_that_comes_twice_counts(tmp_path):
    (tmp_path / "c.json").write_text('{"v": {"start": [0], "end": [1], "text": ["a"]}, "w": {}, "v": {"start": []}}')
    found = dict(read_narrations(str(tmp_path / "c.json")))
    assert list(found) == ["v", "w"]
    with pytest.raises(InputError, match="video v: it must be"):
        found["v"].read()
