"""Published layouts of data sets of captioned videos, as clips, as whole videos, as tokens and with video files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.data.sources.annotated_layouts import HELD, WRITERS, described, moment
from vtr_core.data.sources.all import SOURCES, WHOLE_VIDEOS
from vtr_core.data.sources.captioned_videos import annotated_videos
from vtr_core.data.sources.clip_tokens import ClipTokens
from vtr_core.data.sources.published_captions import AnnotatedDataSet, read_annotated, read_msvd
from vtr_core.data.sources.source import KEPT, Drops
from vtr_core.data.sources.video_files import Inventory
from vtr_core.errors import VtrError

NAMES: tuple[AnnotatedDataSet, ...] = ("didemo", "activitynet", "msvd")
FRAMES = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
Folder = Callable[[str], Path]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A folder of the annotations of a data set, and one of features called by `_file`."""

    def write(name: str) -> Path:
        for part in ("annotations", "features"):
            (tmp_path / part).mkdir()
        WRITERS[name](tmp_path / "annotations")
        for number, (video_id, _, _) in enumerate(HELD[name]):
            np.save(tmp_path / "features" / f"{_file(video_id)}.npy", FRAMES + number)
        return tmp_path

    return write


def _file(video_id: str) -> str:
    return video_id.removeprefix("v_")


def _source(kinds: Any, name: str, root: Path, **more: object) -> Any:
    return kinds[name](annotations=str(root / "annotations"), feature_folder=str(root / "features"), **more)


@pytest.mark.parametrize("name", NAMES)
def test_every_caption_is_a_row_of_its_videos_clip(name: str, folder: Folder) -> None:
    source, drops = _source(SOURCES, name, folder(name), normalise=False), Drops(strict=True)
    for number, video in enumerate(source.videos(drops)):
        rows = list(source.clips(video, drops))
        assert (video.video_id, video.split, tuple(row.caption for row in rows)) == HELD[name][number]
        for row in rows:
            np.testing.assert_allclose(row.features["video"], (FRAMES + number).max(0), atol=3e-3)


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_video_has_all_frames_and_captions(name: str, folder: Folder) -> None:
    source, drops = _source(WHOLE_VIDEOS, name, folder(name)), Drops(strict=True)
    videos = [source.video(entry, drops) for entry in source.videos(drops)]
    assert [(video.video_id, tuple(video.captions)) for video in videos] == [(held[0], held[2]) for held in HELD[name]]
    np.testing.assert_allclose(videos[1].features["video"], FRAMES + 1, atol=3e-3)


@pytest.mark.parametrize("name", NAMES)
def test_tokens_of_clip_take_the_same_annotations(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path)
    for part in ("tokens", "texts"):
        (tmp_path / part).mkdir()
    for video_id, _, captions in HELD[name]:
        np.save(tmp_path / "tokens" / f"{_file(video_id)}.npy", np.ones((3, 5, 4), np.float32))
        np.save(tmp_path / "texts" / f"{_file(video_id)}.npy", np.ones((len(captions), 4), np.float32))
    source = ClipTokens(
        annotations=str(tmp_path),
        data_set=name,  # type: ignore[arg-type]
        token_folder=str(tmp_path / "tokens"),
        text_folder=str(tmp_path / "texts"),
        grid=2,
    )
    drops = Drops(strict=True)
    rows = [(entry, source.video(entry, drops)) for entry in source.videos(drops)]
    assert [(entry.video_id, entry.split, tuple(row.captions)) for entry, row in rows if row] == HELD[name]
    assert source.settings()["data_set"] == name


@pytest.mark.parametrize("name", NAMES)
def test_video_files_are_found_by_the_names_they_are_published_under(name: AnnotatedDataSet, tmp_path: Path) -> None:
    videos = tmp_path / "videos" / "below"
    videos.mkdir(parents=True)
    WRITERS[name](tmp_path)
    names = [f"{_file(video_id)}.mp4" for video_id, _, _ in HELD[name]]
    if name == "didemo":
        names[0] = "1@N01_a.avi.mp4"
    for file in names:
        (videos / file).write_bytes(b"")
    drops = Drops(strict=True)
    entries = annotated_videos(Inventory(str(tmp_path / "videos")), name, str(tmp_path), drops)
    assert [(video.video_id, video.split) for video in entries] == [held[:2] for held in HELD[name]]
    assert [video.content.uri.rpartition("/")[2] for video in entries] == names
    assert [video.content.keep for video in entries] == [split == "test" for _, split, _ in HELD[name]]
    ends = {row.end for video in entries for row in video.content.rows}
    assert ends == ({30.0} if name == "didemo" else {None})


@pytest.mark.parametrize("name", NAMES)
def test_a_test_video_without_features_stays_and_others_do_not(name: str, folder: Folder) -> None:
    root = folder(name)
    train, test = HELD[name][0][0], HELD[name][-1][0]
    for video_id in (train, test):
        (root / "features" / f"{_file(video_id)}.npy").write_bytes(b"x")
    source, drops = _source(WHOLE_VIDEOS, name, root), Drops()
    rows = {entry.video_id: source.video(entry, drops) for entry in source.videos(drops)}
    assert rows[train] is None
    assert rows[test].features == {}
    assert drops.counts == {"unreadable_file": 1, KEPT: 1}


@pytest.mark.parametrize(
    ("name", "file", "content", "counts"),
    [
        ("didemo", "test_data.json", [moment("1@N01_a.avi", "again"), moment("9.avi", "!")], {"split_conflict": 1}),
        ("activitynet", "val_1.json", {"v_a": described(1, "again"), "v_z": described(1, "?")}, {"split_conflict": 1}),
    ],
)
def test_a_video_of_two_splits_stays_in_the_first_and_wordless_sentences_are_left_out(
    name: AnnotatedDataSet, file: str, content: object, counts: dict[str, int], tmp_path: Path
) -> None:
    WRITERS[name](tmp_path)
    (tmp_path / file).write_text(json.dumps(content))
    drops = Drops()
    videos = {video.video_id: video for video in read_annotated(name, str(tmp_path), drops)}
    assert videos[HELD[name][0][0]].captions == HELD[name][0][2]
    assert [video.captions for video in videos.values() if video.split == "test"] == [()]
    assert drops.counts == {**counts, "empty_caption": 1}


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("didemo", "train_data.json", {}),
        ("didemo", "train_data.json", [{"video": "a.avi"}]),
        ("didemo", "train_data.json", [{"video": 3, "description": "x"}]),
        ("didemo", "train_data.json", [{"video": "a.avi", "description": ["x"]}]),
        ("activitynet", "train.json", {"v_a": {"sentences": [5], "duration": 1}}),
        ("activitynet", "train.json", []),
        ("activitynet", "train.json", {"v_a": {"sentences": "x", "duration": 1}}),
        ("activitynet", "train.json", {"v_a": {"sentences": ["x"], "duration": "long"}}),
        ("activitynet", "train.json", {"v_a": {"sentences": ["x"], "duration": -1}}),
    ],
)
def test_files_of_another_form_are_refused(name: AnnotatedDataSet, file: str, content: object, tmp_path: Path) -> None:
    (tmp_path / file).write_text(json.dumps(content))
    with pytest.raises(VtrError, match=file):
        list(read_annotated(name, str(tmp_path), Drops()))


def test_settings_of_clip_tokens_that_belong_to_other_data_are_refused() -> None:
    with pytest.raises(ValueError, match="is of annotations"):
        ClipTokens(table="t.csv", data_set="didemo", token_folder="x")
    with pytest.raises(ValueError, match="is MSR-VTT's"):
        ClipTokens(annotations="a", data_set="msvd", split="1k-a", token_folder="x")
    assert "data_set" not in ClipTokens(annotations="a", token_folder="x").settings()


CAPTIONS = {"a_1_2": ["a man runs", "someone runs"], "b_3_4": ["a dog"], "c_5_6": ["rain"], "d_7_8": ["x", "y", "z"]}
LISTS = {"train_list.txt": "b_3_4\na_1_2\n", "val_list.txt": "c_5_6\nb_3_4\n", "test_list.txt": "lost_1_2\n\n"}


@pytest.fixture
def msvd(tmp_path):
    (tmp_path / "captions_msvd.json").write_text(json.dumps(CAPTIONS))
    for name, content in LISTS.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def test_listed_videos_come_with_split_and_captions(msvd):
    drops = Drops()
    videos = [(video.video_id, video.split, video.captions) for video in read_msvd(str(msvd), drops)]
    assert videos == [
        ("b_3_4", "train", ("a dog",)),
        ("a_1_2", "train", ("a man runs", "someone runs")),
        ("c_5_6", "val", ("rain",)),
    ]
    assert drops.counts == {"duplicate_id": 1, "empty_caption": 1, "unknown_video": 3}
