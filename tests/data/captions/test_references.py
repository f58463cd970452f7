"""Captions scored against all captions of their clip."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders.captioned import captioned_videos
from vtr_core.data.captions import reference_table, training_references, video_captions
from vtr_core.data.shards.word_table import WordTable
from vtr_core.metrics.captioning import cider

TEXTS = {
    "a": ["a man runs in a park", "a man is running", "someone runs"],
    "b": ["a dog sleeps on a mat", "the dog is sleeping"],
    "c": ["two men talk in a park", "men are talking", "two men are in a park"],
}
TOLD = {"a": "a man runs on a mat", "b": "the dog is sleeping", "c": "a man is in a zebra park"}


def test_scores_are_those_of_the_metric(tmp_path: Path) -> None:
    """Also for words that the vocabulary or the corpus lacks."""
    data = captioned_videos(tmp_path / "d", TEXTS)
    vocabulary = WordTable.load(data).vocabulary
    table = training_references(data, vocabulary)
    videos = {video.video_id: video.video_key for video in video_captions(data)}
    words = [[vocabulary.ids.get(word, 999) for word in text.split()] for text in TOLD.values()]
    keys = np.array([videos[name] for name in TOLD])
    found = table.ciders(keys, [[one, one[:2]] for one in words])
    expected = cider(TOLD, TEXTS, tokenizer="words").by_id
    assert found[:, 0].tolist() == pytest.approx(list(expected.values()))
    begun = cider({name: " ".join(text.split()[:2]) for name, text in TOLD.items()}, TEXTS, tokenizer="words").by_id
    assert found[:, 1].tolist() == pytest.approx(list(begun.values()))
    alone = table.ciders(keys[1:2], [[words[1], []]])
    assert alone.tolist() == [[pytest.approx(expected["b"]), 0]]


def test_nothing_is_said_of_a_clip_without_captions() -> None:
    table = reference_table({1: [[1, 2]], 2: []})
    assert table.ciders(np.array([2, 7]), [[[1, 2]], [[1]]]).tolist() == [[0], [0]]
    assert reference_table({}).ciders(np.array([3]), [[[1]]]).tolist() == [[0]]
