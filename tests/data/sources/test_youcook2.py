import numpy as np
import pytest

from vtr_core.data.sources.instructional.howto100m import HowTo100M, YouCook2
from vtr_core.data.sources.source import KEPT, ClipSource, Drops

FRAMES = np.random.default_rng(0).standard_normal((10, 4)).astype(np.float32)
CSV = """end,start,task,text,video_id
4,1,226,chop the onion,one
9,6,226,fry it,one
30,25,226,serve it,one
5,2,7,boil water,two
5,2,7,heat some water,two
3,1,8,peel eggs,lost
"""


class World:
    def __init__(self, root):
        self.root = root
        self.csv = root / "validation_youcook.csv"
        self.csv.write_text(CSV)
        for name in ("2d", "3d", "audio"):
            (root / name).mkdir()
        for video in ("one", "two"):
            np.save(root / "2d" / f"{video}.npy", FRAMES)
            np.save(root / "3d" / f"{video}.npy", np.repeat(FRAMES, 2, axis=0)[:15, :2])
            np.save(root / "audio" / f"{video}.npy", FRAMES[:, :3] * 2)

    def source(self, **settings):
        return YouCook2(annotations=str(self.csv), feature_folder=str(self.root / "2d"), **settings)

    def full(self):
        return self.source(features_3d=str(self.root / "3d"), audio=str(self.root / "audio"))


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def read(source):
    drops = Drops()
    videos = source.videos(drops)
    return [clip for video in videos for clip in source.clips(video, drops)], drops


def test_every_segment_is_a_clip_of_the_test_split(world):
    source = world.source()
    assert isinstance(source, ClipSource)
    assert [(video.video_id, video.split) for video in source.videos(Drops())] == [
        ("one", "test"),
        ("two", "test"),
        ("lost", "test"),
    ]
    clips, drops = read(source)
    assert [(clip.clip_id, clip.start, clip.end, clip.caption, "video" in clip.features) for clip in clips] == [
        ("one:1.0-4.0", 1.0, 4.0, "chop the onion", True),
        ("one:6.0-9.0", 6.0, 9.0, "fry it", True),
        ("one:25.0-30.0", 25.0, 30.0, "serve it", False),
        ("two:2.0-5.0", 2.0, 5.0, "boil water", True),
        ("two:2.0-5.0", 2.0, 5.0, "heat some water", True),
        ("lost:1.0-3.0", 1.0, 3.0, "peel eggs", False),
    ]
    assert drops.counts == {KEPT: 2}
    assert "outside_features" in drops.examples[KEPT][0]
    assert "missing_file" in drops.examples[KEPT][1]
    assert list(source.captions(source.videos(Drops())))[:2] == ["chop the onion", "fry it"]


def test_clips_have_the_features_of_the_same_narration(world):
    """What a model was trained on is what it is tested on: slices, pooling and normalisation as for HowTo100M."""
    full = world.full()
    narrated = HowTo100M(
        features_2d=full.feature_folder,
        annotations=full.annotations,
        features_3d=full.features_3d,
        audio=full.audio,
        min_time=0,
    )
    assert full.features() == narrated.features()
    expected = {clip.caption: clip for clip in read(narrated)[0]}
    shown = [clip for clip in read(full)[0] if clip.features]
    assert len(shown) == len(expected) == 4
    for clip in shown:
        for name in ("video", "audio"):
            np.testing.assert_array_equal(clip.features[name], expected[clip.caption].features[name])


@pytest.mark.parametrize("broken", ["missing", "damaged"])
def test_a_video_whose_sound_cannot_be_had_is_seen(world, broken):
    file = world.root / "audio" / "one.npy"
    file.unlink() if broken == "missing" else file.write_bytes(b"?")
    clips = {clip.caption: set(clip.features) for clip in read(world.full())[0]}
    assert clips["chop the onion"] == {"video"}
    assert clips["boil water"] == {"video", "audio"}


def test_rows_at_fault_are_dropped_and_counted(world):
    world.csv.write_text(CSV + "2,3,1,backwards,one\n8,7,1,...,one\nx,7,1,when,one\n4,1,226,chop the onion,one\n")
    clips, drops = read(world.source())
    assert len(clips) == 6
    assert drops.counts == {KEPT: 2, "end_before_start": 1, "empty_caption": 1, "bad_time": 1, "duplicate_id": 1}
