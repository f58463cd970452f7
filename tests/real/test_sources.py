import csv
from collections import Counter

import numpy as np
import pytest

from tests.toy import written
from vtr_core.data.assemble import RowGroupReader
from vtr_core.data.binary_columns import as_sequences
from vtr_core.data.frames import padded
from vtr_core.data.ingest import IngestOptions
from vtr_core.data.plan import RowGroup
from vtr_core.data.schema import TOKEN_DTYPE
from vtr_core.data.sources.howto100m import HowTo100M
from vtr_core.data.sources.msrvtt import Msrvtt, MsrvttVideos
from vtr_core.data.sources.pairs import Pairs
from vtr_core.data.sources.source import Drops

pytestmark = pytest.mark.real


def read(source):
    drops = Drops()
    videos = source.videos(drops)
    return videos, [clip for video in videos for clip in source.clips(video, drops)], drops


def test_vidrel_gives_all_347_clips(shared_data):
    folder = shared_data / "vidrel"
    source = HowTo100M(
        features_2d=str(folder / "resnet152"), features_3d=str(folder / "c3d"), annotations=str(folder / "captions.csv")
    )
    videos, clips, drops = read(source)
    assert (len(videos), len(clips)) == (347, 347)
    assert not drops.counts
    assert [(feature.name, feature.dim) for feature in source.features()] == [("video", 2560)]
    frames = np.load(folder / "resnet152" / f"{clips[5].clip_id}.npy").astype(np.float64).max(axis=0)
    vector = np.load(folder / "c3d" / f"{clips[5].clip_id}.npy").astype(np.float64)
    expected = np.concatenate([part / np.linalg.norm(part) for part in (frames, vector)])
    np.testing.assert_allclose(clips[5].features["video"], expected, atol=1e-3)


def test_msrvtt_gives_twenty_rows_for_each_of_800_videos(shared_data):
    folder = shared_data / "msrvtt"
    source = Msrvtt(annotations=str(folder / "annotations"), feature_folder=str(folder / "features"))
    videos, clips, drops = read(source)
    assert (len(videos), len(clips)) == (800, 16000)
    assert set(Counter(clip.clip_id for clip in clips).values()) == {20}
    assert {video.split for video in videos} == {"train"}
    assert drops.counts == {"missing_file": 184000}
    assert source.features()[0].dim == 128


def test_msrvtt_keeps_the_frames_and_captions_of_800_videos(shared_data, tmp_path):
    folder = shared_data / "msrvtt"
    source = MsrvttVideos(annotations=str(folder / "annotations"), feature_folder=str(folder / "features"))
    (manifest,) = written(source, tmp_path, IngestOptions(videos_per_shard=300))
    assert (manifest.rows, manifest.videos, len(manifest.shards)) == (800, 800, 3)
    assert sum(manifest.dropped.values()) == 0
    reader = RowGroupReader(manifest, ["video_id", "captions", "tokens", "video", "num_video"])
    places = [RowGroup(s, g) for s, shard in enumerate(manifest.shards) for g in range(len(shard.row_groups))]
    for place in places:
        columns = reader.read_arrow(place)
        frames = padded(columns["video"], 128, 64)
        assert frames.values.shape[1:] == (50, 128)
        assert frames.mask.all()
        assert set(as_sequences(columns["tokens"], 20, TOKEN_DTYPE).counts.tolist()) == {20}
        assert {len(captions) for captions in columns["captions"].to_pylist()} == {20}
        first = np.load(folder / "features" / f"{columns['video_id'][0]}.npy")
        np.testing.assert_array_equal(frames.values[0], first.astype(np.float16))


def test_msrvtt_1ka_has_one_sentence_per_test_video(shared_data, tmp_path):
    folder = shared_data / "msrvtt"
    for number in (9770, 9771, 0):
        np.save(tmp_path / f"video{number}.npy", np.ones((2, 3)))
    source = Msrvtt(annotations=str(folder / "annotations"), feature_folder=str(tmp_path), split="1k-a")
    videos, clips, drops = read(source)
    assert Counter(video.split for video in videos) == {"train": 1, "test": 2}
    assert Counter(clip.clip_id for clip in clips) == {"video0": 20, "video9770": 1, "video9771": 1}
    assert drops.counts == {"missing_file": 8999 * 20 + 998}


def test_avletters_gives_520_clips_with_both_features(shared_data, tmp_path):
    folder = shared_data / "avletters"
    names = sorted(path.stem for path in (folder / "lips").glob("*.npy"))
    with open(tmp_path / "avletters.csv", "w", newline="") as sink:
        writer = csv.writer(sink)
        writer.writerow(["id", "caption", "video", "audio"])
        writer.writerows([name, f"the letter {name[0]}", f"lips/{name}.npy", f"mfcc/{name}.npy"] for name in names)
    source = Pairs(
        table=str(tmp_path / "avletters.csv"),
        root=str(folder),
        feature_columns=("video", "audio"),
        fps=(25.0, 50.0),
    )
    videos, clips, drops = read(source)
    assert (len(videos), len(clips)) == (520, 520)
    assert not drops.counts
    assert [(feature.name, feature.dim) for feature in source.features()] == [("video", 2400), ("audio", 52)]
    assert all(clip.features.keys() == {"video", "audio"} for clip in clips)
    assert len({clip.caption for clip in clips}) == 26
    assert all(0.3 < clip.end < 3 for clip in clips)
