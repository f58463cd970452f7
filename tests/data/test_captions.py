"""Captions of videos, information content, and references of generated captions."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders.captioned import captioned_clips, captioned_videos
from tests.reference import captioning as reference
from vtr_core.data.captions import VideoCaptions, check_captioned, information_table, video_captions
from vtr_core.data.shards.shard_file import caption_key
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import key64

CAPTIONS = {"a": ["A dog.", "a dog", "the dog runs"], "b": ["a cat"], "c": ["a dog", "two men"]}


@pytest.mark.parametrize("ingest", [captioned_videos, captioned_clips])
def test_every_video_comes_with_all_its_captions(tmp_path: Path, ingest) -> None:
    videos = list(video_captions(ingest(tmp_path, CAPTIONS)))
    expected = [VideoCaptions.of(name, captions) for name, captions in CAPTIONS.items()]
    assert sorted(videos, key=lambda video: video.video_id) == expected


CORPUS = {
    "a": ("a man is cooking", "A man is cooking.", "somebody fries an egg"),
    "b": ("a dog runs", "the dog is running outside"),
    "c": ("nobody",),
}


def videos(corpus: dict[str, tuple[str, ...]] = CORPUS) -> list[VideoCaptions]:
    return [VideoCaptions.of(name, captions) for name, captions in corpus.items()]


def test_values_are_found_by_video_and_caption() -> None:
    table = information_table(videos(), "leave_one_out")
    documents = [[c.lower().rstrip(".").split() for c in captions] for captions in CORPUS.values()]
    expected = reference.leave_one_out(documents)
    requested = [("a", 0), ("a", 1), ("a", 2), ("b", 1)]
    keys = np.array([key64(name) for name, _ in requested]), np.array([caption_key(CORPUS[n][i]) for n, i in requested])
    scores = table.of_captions(*keys)
    assert scores == pytest.approx([expected[0][0], expected[0][1], expected[0][2], expected[1][1]])
    assert scores[0] == scores[1]
    known = [value for values in expected[:2] for value in values]
    single = table.of_captions(np.array([key64("c")]), np.array([caption_key("nobody")]))
    assert single == pytest.approx([sum(known) / len(known)])


def test_a_video_has_the_mean_of_its_distinct_captions() -> None:
    table = information_table(videos(), "idf")
    (value,) = table.of_videos(np.array([key64("b")]))
    own = table.of_captions(np.full(2, key64("b")), np.array([caption_key(text) for text in CORPUS["b"]]))
    assert value == pytest.approx(own.mean())


def test_what_the_corpus_does_not_hold_is_nan() -> None:
    table = information_table(videos(), "corpus")
    assert np.isnan(table.of_captions(np.array([key64("a")]), np.array([caption_key("a dog runs")]))).all()
    assert np.isnan(table.of_videos(np.array([key64("nowhere")]))).all()


def test_videos_without_captions_are_refused() -> None:
    with pytest.raises(DatasetError, match="d://x: video b has no captions, and training needs some of every video"):
        check_captioned(videos({**CORPUS, "b": ()}), "d://x")
    with pytest.raises(DatasetError, match="holds no video"):
        check_captioned([])
