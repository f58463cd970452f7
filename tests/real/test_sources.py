import csv
from collections import Counter

import numpy as np
import pytest

from tests.builders.toy import written
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.arrays import as_sequences, pad
from vtr_core.data.records.schema import FEATURE_DTYPE, TOKEN_DTYPE
from vtr_core.data.sources.annotated_videos import Msrvtt, MsrvttVideos
from vtr_core.data.sources.instructional.howto100m import HowTo100M, YouCook2
from vtr_core.data.sources.pairs import Pairs
from vtr_core.data.sources.published_captions import read_msvd
from vtr_core.data.sources.source import KEPT, Drops
from vtr_core.errors import InputError
from vtr_core.text.tokens.vocabulary import Vocabulary, word_counts

pytestmark = pytest.mark.real


def table(path):
    with open(path, newline="") as source:
        return list(csv.DictReader(source))


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


def test_msvd_gives_all_videos_and_captions_of_its_splits(shared_data):
    drops = Drops()
    videos = list(read_msvd(str(shared_data / "msvd"), drops))
    assert Counter(video.split for video in videos) == {"train": 1200, "val": 100, "test": 670}
    assert sum(len(video.captions) for video in videos) == 80_827
    assert not drops.counts


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
        frames = pad(as_sequences(columns["video"], 128, FEATURE_DTYPE), slice(None), 64)
        assert frames.values.shape[1:] == (50, 128)
        assert frames.mask.all()
        assert set(as_sequences(columns["tokens"], 20, TOKEN_DTYPE).counts.tolist()) == {20}
        assert {len(captions) for captions in columns["captions"].to_pylist()} == {20}
        first = np.load(folder / "features" / f"{columns['video_id'][0]}.npy")
        np.testing.assert_array_equal(frames.values[0], first.astype(np.float16))


@pytest.mark.long
def test_msrvtt_official_training_captions_have_7807_words(shared_data, tmp_path):
    for number in range(6513):
        (tmp_path / f"video{number}.npy").touch()  # the listing looks at names alone
    annotations = str(shared_data / "msrvtt" / "annotations")
    source = MsrvttVideos(annotations=annotations, feature_folder=str(tmp_path))
    videos = [video for video in source.videos(Drops()) if video.split == "train"]
    captions = list(source.captions(videos))
    assert (len(videos), len(captions)) == (6513, 130260)
    assert len(Vocabulary.from_counts(word_counts(captions, "alphanumeric"), 5)) == 7807


@pytest.mark.long
def test_msrvtt_1ka_has_one_sentence_per_test_video(shared_data, tmp_path):
    folder = shared_data / "msrvtt"
    for number in (9770, 9771, 0):
        np.save(tmp_path / f"video{number}.npy", np.ones((2, 3)))
    source = Msrvtt(annotations=str(folder / "annotations"), feature_folder=str(tmp_path), split="1k-a")
    videos, clips, drops = read(source)
    assert Counter(video.split for video in videos) == {"train": 1, "test": 1000}
    given = [clip for clip in clips if clip.features]
    assert Counter(clip.clip_id for clip in given) == {"video0": 20, "video9770": 1, "video9771": 1}
    assert drops.counts == {"missing_file": 8999 * 20, KEPT: 998}
    assert Counter(Counter(clip.clip_id for clip in clips if clip.clip_id != "video0").values()) == {1: 1000}
    asked = {row["video_id"]: row["sentence"] for row in table(folder / "annotations" / "MSRVTT_JSFUSION_test.csv")}
    assert {clip.clip_id: clip.caption for clip in clips if clip.clip_id != "video0"} == asked


@pytest.mark.long
def test_msrvtt_official_test_has_59800_queries(shared_data, tmp_path):
    np.save(tmp_path / "video7010.npy", np.ones((2, 3)))
    annotations = str(shared_data / "msrvtt" / "annotations")
    videos, clips, drops = read(Msrvtt(annotations=annotations, feature_folder=str(tmp_path)))
    assert {video.split for video in videos} == {"test"}
    assert {video.video_id for video in videos} == {f"video{number}" for number in range(7010, 10000)}
    assert (len(videos), len(clips)) == (2990, 59800)
    assert set(Counter(clip.clip_id for clip in clips).values()) == {20}
    assert sum("video" in clip.features for clip in clips) == 20
    assert drops.counts == {"missing_file": 7010 * 20, KEPT: 2989 * 20}


def youcook2(shared_data, folder):
    return YouCook2(annotations=str(shared_data / "youcook2" / "validation_youcook.csv"), feature_folder=str(folder))


def test_youcook2_has_3350_queries_whatever_features_there_are(shared_data, tmp_path):
    first, second = "xHr8X2Wpmno", "-ErPSunMfcs"
    frames = np.random.default_rng(0).standard_normal((800, 6)).astype(np.float32)
    np.save(tmp_path / f"{first}.npy", frames)
    np.save(tmp_path / f"{second}.npy", frames[:100])
    rows = table(shared_data / "youcook2" / "validation_youcook.csv")
    (manifest,) = written(youcook2(shared_data, tmp_path), tmp_path / "data", IngestOptions(videos_per_shard=64))
    assert (manifest.rows, manifest.videos) == (3350, 436)
    reader = RowGroupReader(manifest, ["video_id", "start", "end", "caption", "clip_key", "video", "has_video"])
    read_rows = [reader.read(place) for place in row_groups(manifest)]
    columns = {name: np.concatenate([part[name] for part in read_rows]) for name in read_rows[0]}
    wanted = {(row["video_id"], float(row["start"]), float(row["end"]), row["text"].strip()) for row in rows}
    named = zip(*(columns[name].tolist() for name in ("video_id", "start", "end", "caption")), strict=True)
    assert set(named) == wanted
    assert len(wanted) == 3350
    assert len(set(columns["clip_key"].tolist())) == 3349  # one segment has two captions
    seen = {(row["video_id"], row["start"]) for row in rows if row["video_id"] == first}
    seen |= {(row["video_id"], row["start"]) for row in rows if row["video_id"] == second and float(row["start"]) < 100}
    assert columns["has_video"].sum() == len(seen) > 10
    assert manifest.dropped == {KEPT: 3350 - len(seen)}
    at = next(i for i, row in enumerate(columns["caption"]) if row == "pick the ends off the verdalago")
    vector = frames[47:61].astype(np.float64).max(axis=0)
    np.testing.assert_allclose(columns["video"][at], vector / np.linalg.norm(vector), atol=1e-3)


def test_youcook2_without_any_features_is_an_error(shared_data, tmp_path):
    with pytest.raises(InputError, match=r"no feature file in .* can be used"):
        youcook2(shared_data, tmp_path).features()


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
