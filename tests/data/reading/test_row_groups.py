"""Row groups as rows of videos and texts, and statistics of features."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders.captioned import captioned_clips, captioned_videos
from tests.builders.toy import toy_videos
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Part, Plan, row_groups
from vtr_core.data.reading.evaluated_rows import video_rows
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.shards.shard_file import caption_key
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.stream.assemble import read_directly
from vtr_core.fingerprint import key64
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, texts_of

FRAMES_OF = (3, 1, 4, 0, 5, 2, 6)


@pytest.mark.parametrize(("max_frames", "max_videos"), [(64, 128), (3, 2), (4, 1)])
def test_every_video_comes_once_with_all_captions(tmp_path: Path, max_frames: int, max_videos: int) -> None:
    manifest = toy_videos(tmp_path, FRAMES_OF, videos_per_shard=4)
    words = WordTable.load(manifest).vocabulary
    shown = []
    for rows in video_rows(manifest, row_groups(manifest), max_frames, max_videos):
        assert len(rows.video_id) <= max_videos
        for i, video_id in enumerate(rows.video_id):
            v = int(video_id[1:])
            shown.append(v)
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
    assert sorted(shown) == list(range(len(FRAMES_OF)))


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


CAPTIONS = {
    "a": ["A dog, running!", "Käse über alles"],
    "b": ["二匹の犬", "a dog"],
    "c": ["x" * (TEXT_BYTES + 50), "one two"],
}


@pytest.fixture(params=[captioned_clips, captioned_videos], ids=["clips", "videos"])
def manifest(request: pytest.FixtureRequest, tmp_path: Path) -> Manifest:
    made: Manifest = request.param(tmp_path / "d", CAPTIONS)
    return made


def test_a_batch_holds_the_texts_of_its_captions(manifest: Manifest) -> None:
    plan = Plan(manifest, BatchConfig(videos=3, clips_per_video=1, window=1), seed=0)
    reader = RowGroupReader(manifest, training_columns(manifest.schema), utf8=True)
    written = {caption_key(text): text for texts in CAPTIONS.values() for text in texts}
    batches = read_directly(reader, plan, Part(0, 1), 0)
    shown = set()
    for _ in range(8):
        batch = next(batches)
        assert batch["tokens"].shape == (3, TEXT_BYTES)
        for text, key in zip(texts_of(batch["tokens"].astype(np.int64)), batch["caption_key"].tolist(), strict=True):
            assert text == written[key][:TEXT_BYTES]
            shown.add(key)
    assert len(shown) > 3


def test_without_utf8_the_same_batches_hold_words(manifest: Manifest) -> None:
    plan = Plan(manifest, BatchConfig(videos=3, clips_per_video=1, window=1), seed=0)
    texts, words = (
        next(read_directly(RowGroupReader(manifest, training_columns(manifest.schema), utf8=utf8), plan, Part(0, 1), 0))
        for utf8 in (True, False)
    )
    assert words["tokens"].shape[1] == manifest.schema.max_words
    np.testing.assert_array_equal(texts["caption_key"], words["caption_key"])
    np.testing.assert_array_equal(texts["video"], words["video"])
