import numpy as np
import pytest

from vtr_core.data.sources.instructional.howto100m import HowTo100M
from vtr_core.data.sources.source import Drops
from vtr_core.errors import InputError

RNG = np.random.default_rng(0)
FRAMES_2D = RNG.random((30, 6)).astype(np.float16)
FRAMES_3D = RNG.random((45, 4)).astype(np.float32)
SOUND = RNG.standard_normal((60, 3)).astype(np.float32)


class World:
    """Feature folders and a caption file that tests spoil one by one."""

    def __init__(self, root):
        self.root = root
        for stream in ("2d", "3d", "audio"):
            (root / stream).mkdir()
        for video in ("v1", "v2", "v3"):
            self.save("2d", video, FRAMES_2D)
            self.save("3d", video, FRAMES_3D)
            self.save("audio", video, SOUND)
        self.write(
            "video_id,start,end,text", "v1,0,4,cut the onion", "v1,4,8,stir it", "v2,10.2,20,fold it", "v3,1,9,bake"
        )

    def save(self, stream, video, array):
        np.save(self.root / stream / f"{video}.npy", array)

    def write(self, *lines):
        (self.root / "captions.csv").write_text("\n".join(lines))

    def source(self, **settings):
        paths = {"features_2d": self.root / "2d", "features_3d": self.root / "3d", "audio": self.root / "audio"}
        folders = {name: str(path) for name, path in paths.items()}
        return HowTo100M(**{**folders, "annotations": str(self.root / "captions.csv"), "fps_audio": 2.0, **settings})


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def clips_of(source, drops=None):
    drops = Drops(strict=True) if drops is None else drops
    return [clip for video in source.videos(drops) for clip in source.clips(video, drops)]


def unit(vector):
    values = np.asarray(vector, np.float64)
    return values / np.sqrt((values**2).sum())


def test_video_is_two_pooled_and_normalised_streams_and_audio_a_mean(world):
    clips = clips_of(world.source())
    assert [clip.clip_id for clip in clips] == ["v1:0.0-8.0", "v2:10.2-20.0", "v3:1.0-9.0"]
    assert [clip.caption for clip in clips] == ["cut the onion stir it", "fold it", "bake"]
    assert (clips[1].start, clips[1].end) == (10.2, 20.0)
    spatial, temporal = FRAMES_2D[10:21].max(axis=0), FRAMES_3D[15:31].max(axis=0)
    expected = np.concatenate([unit(spatial), unit(temporal)])
    assert clips[1].features["video"].dtype == np.float16
    np.testing.assert_allclose(clips[1].features["video"], expected, atol=1e-3)
    np.testing.assert_allclose(clips[1].features["audio"], SOUND[20:41].mean(axis=0), atol=1e-3)


def test_published_clips_are_as_many_as_captions_and_overlap(world):
    clips = clips_of(world.source(clips_from="published"))
    assert [(clip.clip_id, clip.caption) for clip in clips] == [
        ("v1:0.0-8.0", "cut the onion stir it"),
        ("v1:0.0-8.0", "stir it cut the onion"),
        ("v2:10.2-20.0", "fold it"),
        ("v3:1.0-9.0", "bake"),
    ]


def test_captions_without_times_make_one_clip_per_video(world):
    world.write("video_id,caption", "v1,a dog", "v2,a cat", "v1,a big dog", "v2, - ")
    world.save("3d", "v1", FRAMES_3D[0])
    drops = Drops()
    clips = clips_of(world.source(), drops)
    assert [(clip.clip_id, clip.start, clip.end, clip.caption) for clip in clips] == [
        ("v1", 0, 30, "a dog"),
        ("v1", 0, 30, "a big dog"),
        ("v2", 0, 30, "a cat"),
    ]
    expected = np.concatenate([unit(FRAMES_2D.max(axis=0)), unit(FRAMES_3D[0])])
    np.testing.assert_allclose(clips[0].features["video"], expected, atol=1e-3)
    assert drops.counts == {"empty_caption": 1}


def test_missing_audio_leaves_clips_without_it(world):
    (world.root / "audio" / "v1.npy").unlink()
    first, *others = clips_of(world.source())
    assert "audio" not in first.features
    assert all("audio" in clip.features for clip in others)


def test_a_rate_that_all_videos_contradict_ends_the_ingest(world):
    """3D features of 1.5 rows a second that are read as one a second: second 60 would get the rows of second 90."""
    with pytest.raises(InputError, match=r"first 4 videos all contradict .*v1\.npy .*at 1 a second \(--fps-3d\) last"):
        clips_of(world.source(fps_3d=1.0))


def test_a_recorded_rate_is_read_and_no_other_is_taken(world):
    (world.root / "extraction.json").write_text('{"recipes": [], "rows_per_second": {"audio": 2.0, "3d": 1.5}}')
    assert world.source(fps_audio=None).settings()["fps_audio"] == 2.0
    assert "audio" in clips_of(world.source(fps_audio=None))[0].features
    with pytest.raises(InputError, match=r"--fps-audio 1: extraction.json beside .* says 2 rows a second"):
        clips_of(world.source(fps_audio=1.0))


SPOILT = {
    "missing_file": ("3d", None),
    "unreadable_file": ("2d", b"\x93NUMPY"),
    "not_numeric": ("2d", np.array([["a", "b"]])),
    "wrong_dimension": ("2d", FRAMES_2D[:, :5]),
    "wrong_rank": ("3d", np.ones((2, 3, 4))),
    "not_finite": ("3d", np.full((45, 4), np.nan)),
    "not_finite (audio)": ("audio", np.full((60, 3), np.inf)),
    "not_finite (beyond float16)": ("audio", np.full((60, 3), 1e6)),
    "streams_disagree": ("2d", FRAMES_2D[:10]),
}


@pytest.mark.parametrize(("reason", "stream", "content"), [(k, *v) for k, v in SPOILT.items()], ids=SPOILT)
def test_a_video_at_fault_is_dropped_counted_and_named(world, reason, stream, content):
    file = world.root / stream / "v2.npy"
    file.unlink()
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        world.save(stream, "v2", content)
    drops = Drops()
    assert [clip.clip_id[:2] for clip in clips_of(world.source(), drops)] == ["v1", "v3"]
    assert drops.counts == {reason.partition(" ")[0]: 1}
    assert "v2" in next(iter(drops.examples.values()))[0]
    with pytest.raises(InputError, match=r"v2.*--strict"):
        clips_of(world.source())


def test_an_id_that_leads_out_of_the_folder_is_not_followed(world):
    np.save(world.root / "secret.npy", FRAMES_2D)
    world.write("video_id,start,end,text", "../secret,0,9,a", "v1,0,9,b", "a/b,0,9,c")
    drops = Drops()
    assert [clip.clip_id for clip in clips_of(world.source(), drops)] == ["v1:0.0-9.0"]
    assert drops.counts == {"unsafe_id": 2}


def test_rows_at_fault_are_dropped_and_the_rest_is_used(world):
    world.write("video_id,start,end,text", "v1,0,9,good", "v1,9,9,a", "v1,x,9,b", "v1,20,29,", "v1,0,9,good")
    drops = Drops()
    assert [clip.caption for clip in clips_of(world.source(), drops)] == ["good"]
    assert drops.counts == {"end_before_start": 1, "bad_time": 1, "empty_caption": 1, "duplicate_id": 1}
