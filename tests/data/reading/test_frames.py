"""Reading for evaluation gives every video once, with all its captions, however it is cut into pieces."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.evaluated_rows import video_rows
from vtr_core.data.shards.shard_file import caption_key
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import SchemaMismatch
from vtr_core.fingerprint import key64

FRAMES_OF = (3, 1, 4, 0, 5, 2, 6)


@pytest.mark.parametrize(("max_frames", "max_videos"), [(64, 128), (3, 2), (4, 1)])
def test_every_video_comes_once_with_all_captions(tmp_path: Path, max_frames: int, max_videos: int) -> None:
    manifest = toy_videos(tmp_path, FRAMES_OF, videos_per_shard=4)
    words = WordTable.load(manifest).vocabulary
    seen = []
    for rows in video_rows(manifest, row_groups(manifest), max_frames, max_videos):
        assert len(rows.video_id) <= max_videos
        for i, video_id in enumerate(rows.video_id):
            v = int(video_id[1:])
            seen.append(v)
            assert rows.video_key[i] == key64(video_id)
            every = [[v, t, v + t] for t in range(FRAMES_OF[v])]
            assert rows.frames["video"][i][rows.mask["video"][i]].tolist() == every[:max_frames]
            assert rows.mask["video"][i].tolist() == [
                t < len(every[:max_frames]) for t in range(rows.frames["video"].shape[1])
            ]
            assert not rows.frames["video"][i][~rows.mask["video"][i]].any()
            np.testing.assert_allclose(rows.mean["video"][i], np.mean(every or [[0] * 3], axis=0), rtol=1e-6)
            assert (bool(rows.present["video"][i]), bool(rows.present["audio"][i])) == (bool(every), v % 3 == 0)
            own = np.flatnonzero(rows.caption_video == i).tolist()
            texts = [rows.captions[c] for c in own]
            assert texts == [f"Caption number{c} of video number{v}" for c in range(v + 1)]
            assert rows.tokens[own].tolist() == [words.encode(text, 20).tolist() for text in texts]
            assert rows.caption_key[own].tolist() == [caption_key(text) for text in texts]
    assert sorted(seen) == list(range(len(FRAMES_OF)))


def test_only_what_is_asked_for_is_read(tmp_path: Path) -> None:
    manifest = toy_videos(tmp_path, FRAMES_OF)
    places = row_groups(manifest)
    for whole, rows in zip(
        video_rows(manifest, places, 3), video_rows(manifest, places, 3, features=["audio"], mean=False), strict=True
    ):
        assert (set(whole.frames), set(whole.mean)) == ({"video", "audio"}, {"video", "audio"})
        assert (set(rows.frames), set(rows.present), rows.mean) == ({"audio"}, {"audio"}, {})
        assert rows.frames["audio"].equal(whole.frames["audio"])
        assert rows.captions == whole.captions


def test_clips_are_refused_with_the_remedy(tmp_path: Path) -> None:
    (manifest,) = toy_dataset(tmp_path)
    with pytest.raises(SchemaMismatch, match=r"is clips/1; this model reads videos/1.* --records videos"):
        next(video_rows(manifest, row_groups(manifest), 64))
