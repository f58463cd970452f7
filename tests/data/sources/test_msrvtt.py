import json

import numpy as np
import pytest

from vtr_core.data.sources.annotated_videos import Msrvtt, MsrvttVideos
from vtr_core.data.sources.instructional.howto100m import HowTo100M
from vtr_core.data.sources.source import KEPT, Drops
from vtr_core.errors import ConfigError, InputError

FRAMES = np.random.default_rng(0).standard_normal((8, 5)).astype(np.float32)


def video(number, split):
    return {"video_id": f"video{number}", "split": split, "start time": 2.5, "end time": 12.75, "id": number}


def sentence(number, text):
    return {"video_id": f"video{number}", "caption": text}


TRAIN_VAL = {
    "videos": [video(0, "train"), video(1, "train"), video(2, "validate")],
    "sentences": [sentence(1, "one b"), sentence(0, "zero a"), sentence(2, "two"), sentence(0, "zero b")],
}
TEST = {"videos": [video(3, "test")], "sentences": [sentence(3, "three a"), sentence(3, "three b")]}


class World:
    def __init__(self, root):
        self.annotations, self.features = root / "annotations", root / "features"
        self.annotations.mkdir()
        self.features.mkdir()
        self.write("train_val_videodatainfo.json", TRAIN_VAL)
        self.write("test_videodatainfo.json", TEST)
        (self.annotations / "MSRVTT_train.9k.csv").write_text("video_id\nvideo0\nvideo2\nvideo99\n")
        lines = ("key,vid_key,video_id,sentence", "ret0,msr3,video3,three a", "ret1,msr1,video1,given")
        (self.annotations / "MSRVTT_JSFUSION_test.csv").write_text("\n".join(lines))
        for number in range(4):
            np.save(self.features / f"video{number}.npy", FRAMES + number)

    def write(self, name, content):
        (self.annotations / name).write_text(json.dumps(content))

    def source(self, **settings):
        paths = {"annotations": str(self.annotations), "feature_folder": str(self.features)}
        return Msrvtt(**{**paths, **settings})

    def whole(self, **settings):
        return MsrvttVideos(annotations=str(self.annotations), feature_folder=str(self.features), **settings)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def rows(source, drops=None):
    drops = Drops(strict=True) if drops is None else drops
    return [
        (video.split, clip.clip_id, clip.caption)
        for video in source.videos(drops)
        for clip in source.clips(video, drops)
    ]


def test_every_caption_is_a_row_of_its_videos_clip(world):
    assert rows(world.source()) == [
        ("train", "video0", "zero a"),
        ("train", "video0", "zero b"),
        ("train", "video1", "one b"),
        ("val", "video2", "two"),
        ("test", "video3", "three a"),
        ("test", "video3", "three b"),
    ]


def test_the_1ka_split_has_one_given_sentence_per_test_video(world):
    drops = Drops()
    assert rows(world.source(split="1k-a"), drops) == [
        ("train", "video0", "zero a"),
        ("train", "video0", "zero b"),
        ("train", "video2", "two"),
        ("test", "video3", "three a"),
        ("test", "video1", "given"),
    ]
    assert drops.counts == {"unknown_video": 1}


@pytest.mark.parametrize(("pool", "dim"), [("max", 5), ("mean", 5), ("mean_std", 10)])
def test_a_videos_rows_are_pooled_and_normalised(world, pool, dim):
    source = world.source(pool=pool)
    assert [(feature.name, feature.dim) for feature in source.features()] == [("video", dim)]
    clip = next(source.clips(source.videos(Drops())[1], Drops()))
    frames = (FRAMES + 1).astype(np.float64)
    parts = {"max": [frames.max(0)], "mean": [frames.mean(0)], "mean_std": [frames.mean(0), frames.std(0)]}[pool]
    raw = np.concatenate(parts)
    np.testing.assert_allclose(clip.features["video"], raw / np.linalg.norm(raw), atol=1e-3)
    plain = world.source(pool=pool, normalise=False)
    clip = next(plain.clips(plain.videos(Drops())[1], Drops()))
    np.testing.assert_allclose(clip.features["video"], raw, atol=3e-3)
    assert (clip.start, clip.end) == (0, 10.25)


def test_two_streams_and_audio_are_those_of_howto100m(world, tmp_path):
    """The vectors that HowTo100M's loader makes of the same files, so that its models can be tested here."""
    rng = np.random.default_rng(1)
    for name in ("deep", "sound"):
        (tmp_path / name).mkdir()
    for number in range(4):
        np.save(tmp_path / "deep" / f"video{number}.npy", 9 * rng.standard_normal((3, 4)).astype(np.float32))
    for number in (1, 3):
        np.save(tmp_path / "sound" / f"video{number}.npy", rng.standard_normal((6, 2)).astype(np.float32))
    folders = {"features_3d": str(tmp_path / "deep"), "audio": str(tmp_path / "sound")}
    source = world.source(**folders)
    (tmp_path / "captions.csv").write_text("video_id,caption\n" + "".join(f"video{n},words\n" for n in range(4)))
    rates = {"fps_3d": 3 / 8, "fps_audio": 6 / 8}  # 8, 3 and 6 rows of 8 seconds
    howto = HowTo100M(features_2d=str(world.features), annotations=str(tmp_path / "captions.csv"), **folders, **rates)
    assert source.features() == howto.features()
    expected = {v.video_id: next(howto.clips(v, Drops())).features for v in howto.videos(Drops())}
    for entry in source.videos(Drops(strict=True)):
        for clip in source.clips(entry, Drops(strict=True)):
            assert clip.features.keys() == expected[entry.video_id].keys()
            assert ("audio" in clip.features) == (entry.video_id in ("video1", "video3"))
            for name, values in clip.features.items():
                assert (values == expected[entry.video_id][name]).all()
    assert world.source().settings().keys() & folders.keys() == set()  # as data sets that were made before


def test_a_damaged_sound_leaves_a_test_video_with_its_pictures(world, tmp_path):
    (tmp_path / "sound").mkdir()
    for number in (1, 2):
        np.save(tmp_path / "sound" / f"video{number}.npy", np.ones((2, 3), np.float32))
    for number in (0, 3):
        (tmp_path / "sound" / f"video{number}.npy").write_bytes(b"?")
    source, drops = world.source(audio=str(tmp_path / "sound")), Drops()
    clips = {v.video_id: list(source.clips(v, drops)) for v in source.videos(drops)}
    assert clips["video3"][0].features.keys() == {"video"}
    assert clips["video0"] == []
    assert drops.counts == {KEPT: 2, "unreadable_file": 2}


def test_videos_without_features_are_not_listed_and_their_rows_counted(world):
    (world.features / "video0.npy").unlink()
    drops = Drops()
    source = world.source()
    assert [video.video_id for video in source.videos(drops)] == ["video1", "video2", "video3"]
    assert drops.counts == {"missing_file": 2}
    assert "video0.npy" in drops.examples["missing_file"][0]


def test_damaged_features_drop_all_rows_of_the_video(world):
    (world.features / "video3.npy").write_bytes(b"?")
    drops = Drops()
    source = world.source(keep_missing="never")
    assert [row[1] for row in rows(source, drops)] == ["video0", "video0", "video1", "video2"]
    assert drops.counts == {"unreadable_file": 2}


def test_a_test_video_without_usable_features_stays_without(world):
    """The 1k-a test is of 1,000 queries, however many feature files are at hand; training drops what it cannot use."""
    (world.features / "video3.npy").unlink()
    drops = Drops()
    source = world.source(split="1k-a")
    clips = {v.video_id: list(source.clips(v, drops)) for v in source.videos(drops)}
    assert [(clip.caption, dict(clip.features)) for clip in clips["video3"]] == [("three a", {})]
    assert clips["video1"][0].features.keys() == {"video"}
    assert drops.counts == {KEPT: 1, "unknown_video": 1}
    assert "video3.npy (missing_file)" in drops.examples[KEPT][0]
    (world.features / "video3.npy").write_bytes(b"?")
    drops = Drops()
    assert len(rows(source, drops)) == 5
    assert drops.counts == {KEPT: 1, "unknown_video": 1}
    (world.features / "video0.npy").unlink()
    assert "video0" not in {row[1] for row in rows(source, Drops())}


def test_faulty_annotations_are_counted(world):
    content = {
        "videos": [video(3, "test"), video(3, "test"), {**video(9, "test"), "video_id": "../video0"}],
        "sentences": [
            *TEST["sentences"],
            sentence(3, "..."),
            sentence(77, "lost"),
            {**sentence(0, "x"), "video_id": "../video0"},
        ],
    }
    world.write("test_videodatainfo.json", content)
    drops = Drops()
    rows(world.source(), drops)
    assert drops.counts == {"empty_caption": 1, "unknown_video": 1, "duplicate_id": 1, "unsafe_id": 1}


def test_captions_are_texts_or_lists_of_them(world):
    content = {**TEST, "sentences": [*TEST["sentences"], {**sentence(3, ""), "caption": ["a cat", "a dog"]}]}
    world.write("test_videodatainfo.json", content)
    captions = {text for row in rows(world.source(), Drops()) for text in row if isinstance(text, str)}
    assert {"a cat", "a dog"} <= captions
    for fault in ({"caption": 5}, {"caption": {"en": "a"}}, {"video_id": 1.5}, {"video_id": None}):
        world.write("test_videodatainfo.json", {**TEST, "sentences": [{**sentence(3, "a cat"), **fault}]})
        with pytest.raises(InputError, match=r"test_videodatainfo\.json, .*(is no text but|it is empty)"):
            rows(world.source(), Drops())


def test_missing_files_are_errors(world):
    with pytest.raises(InputError, match="no MSR-VTT annotations at"):
        world.source(annotations=str(world.features)).videos(Drops())
    with pytest.raises(InputError, match="no MSR-VTT annotations at"):
        world.source(annotations="/none/x.json").videos(Drops())
    with pytest.raises(ConfigError, match=r"needs the folder with MSRVTT_train\.9k\.csv"):
        world.source(annotations=str(world.annotations / "test_videodatainfo.json"), split="1k-a").videos(Drops())
    (world.annotations / "MSRVTT_JSFUSION_test.csv").unlink()
    with pytest.raises(InputError, match=r"there is no table .*MSRVTT_JSFUSION_test\.csv"):
        world.source(split="1k-a").videos(Drops())


def test_zero_shot_needs_the_table_of_the_test_alone(world):
    whole = [row for row in rows(world.source(split="1k-a"), Drops()) if row[0] == "test"]
    for name in ("train_val_videodatainfo.json", "test_videodatainfo.json", "MSRVTT_train.9k.csv"):
        (world.annotations / name).unlink()
    found = rows(world.source(split="1k-a"), Drops())
    assert found == whole
    assert found


def test_both_annotation_files_in_one_as_howto100m_has_them(world):
    expected = rows(world.source(), Drops())
    contents = [
        json.loads((world.annotations / f"{part}_videodatainfo.json").read_text()) for part in ("train_val", "test")
    ]
    for name in ("train_val_videodatainfo.json", "test_videodatainfo.json"):
        (world.annotations / name).unlink()
    world.write("MSRVTT_data.json", {key: [*contents[0][key], *contents[1][key]] for key in ("videos", "sentences")})
    assert rows(world.source(), Drops()) == expected


def whole(source, drops):
    videos = [source.video(video, drops) for video in source.videos(drops)]
    return {video.video_id: video for video in videos if video is not None}


def test_a_whole_video_without_captions_is_dropped(world):
    content = {"videos": TEST["videos"], "sentences": [sentence(3, "...")]}
    world.write("test_videodatainfo.json", content)
    drops = Drops()
    assert "video3" not in whole(world.whole(), drops)
    assert drops.counts == {"empty_caption": 2}
    assert "no caption that holds a word" in drops.examples["empty_caption"][1]
