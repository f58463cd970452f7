"""A concept table gives back its names, its counts and the soft labels of any of its videos."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vtr_core.data.concepts.concept_table import (
    FILE,
    ConceptCounts,
    ConceptTable,
    CountedSet,
    TableHead,
    save_concept_table,
)
from vtr_core.errors import DatasetError

NAMES = ("man", "dog", "run")
TRAIN = [{"man": 4, "dog": 2}, {}, {"run": 3, "man": 3, "rare": 6}]
TEST = [{"dog": 1, "unknown": 2}]


def head(*videos: int, names: tuple[str, ...] = NAMES) -> TableHead:
    sets = tuple(CountedSet(f"/data/{n}", f"fingerprint{n}", count, 20, 2) for n, count in enumerate(videos))
    frequency = tuple(range(len(names), 0, -1))
    return TableHead("tagger 1", "abc", ("noun", "verb"), False, names, frequency, sets)


def table(folder: Path) -> ConceptTable:
    train = ConceptCounts.from_kept([30, 10, 20], TRAIN, NAMES, ambiguous=[5, -3, 5])
    test = ConceptCounts.from_kept([-7], TEST, NAMES, ambiguous=[8])
    return save_concept_table(str(folder), head(3, 1), [train, test])


def test_soft_labels_are_counts_over_the_largest_count_of_all_concepts(tmp_path: Path) -> None:
    table(tmp_path)
    loaded = ConceptTable.load(str(tmp_path))
    labels = loaded.soft_labels(np.array([20, -7, 30, 10, 20]), 3)
    expected = [[0.5, 0, 0.5], [0, 0.5, 0], [1, 0.5, 0], [0, 0, 0], [0.5, 0, 0.5]]
    np.testing.assert_array_equal(labels, np.array(expected, np.float32))
    np.testing.assert_array_equal(loaded.soft_labels(np.array([30, 20]), 1), np.array([[1], [0.5]], np.float32))


def test_loading_gives_what_was_saved(tmp_path: Path) -> None:
    written, loaded = table(tmp_path), ConceptTable.load(str(tmp_path))
    assert (loaded.names, loaded.head.tagger, loaded.fingerprint) == (NAMES, "tagger 1", written.fingerprint)
    assert loaded.head == written.head
    assert loaded.counts.video_key.tolist() == written.counts.video_key.tolist() == [-7, 10, 20, 30]
    assert loaded.counts.largest.tolist() == [2, 0, 6, 4]
    assert loaded.counts.ambiguous.tolist() == [-3, 5, 8]


def test_the_fingerprint_is_of_the_content_not_of_the_place(tmp_path: Path) -> None:
    first, other = table(tmp_path / "a"), table(tmp_path / "b")
    assert first.fingerprint == other.fingerprint
    remaining = ConceptCounts.from_kept([30, 10, 20], [{"man": 5}, *TRAIN[1:]], NAMES)
    assert save_concept_table(str(tmp_path / "c"), head(3), [remaining]).fingerprint != first.fingerprint


def test_what_the_table_does_not_offer(tmp_path: Path) -> None:
    loaded = table(tmp_path)
    loaded.require(3)
    with pytest.raises(DatasetError, match=r"offer 3 concepts, fewer than the 4 asked for.*--min-captions"):
        loaded.soft_labels(np.array([10]), 4)
    with pytest.raises(DatasetError, match=r"2 of 3 videos are not in the concept table .*/data/0, /data/1"):
        loaded.soft_labels(np.array([10, 99, 31, 99]), 2)
    loaded.require_dataset("/elsewhere", "fingerprint1")
    with pytest.raises(DatasetError, match="not from /data/9"):
        loaded.require_dataset("/data/9", "fingerprint9")


def test_a_video_of_two_data_sets_counts_once(tmp_path: Path) -> None:
    counts = ConceptCounts.from_kept([4, 2], [{"man": 2}, {"dog": 1, "man": 1}], NAMES)
    joined = ConceptCounts.join([counts, ConceptCounts.from_kept([2], [{"dog": 1, "man": 1}], NAMES)])
    assert (joined.video_key.tolist(), joined.counts.indptr.tolist()) == ([2, 4], [0, 2, 3])
    assert (joined.counts.indices.tolist(), joined.counts.data.tolist()) == ([1, 0, 0], [1, 1, 2])


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        (FILE, lambda content: content.replace(b'"dog"', b'"cat"'), "does not match its fingerprint"),
        (FILE, lambda content: content.replace(b'"version": 1', b'"version": 2'), "concepts/2, this code reads"),
        (FILE, lambda content: b"[]", "is damaged"),
        (FILE, lambda content: b"{}", "is damaged"),
        ("counts-1.parquet", lambda content: content[:-1] + b"x", r"counts-1\.parquet is damaged"),
        ("counts-1.parquet", None, r"counts-1\.parquet cannot be read"),
        (FILE, None, r"is not a concept table.*vtr concepts"),
    ],
)
def test_damage_is_named(tmp_path: Path, file: str, change: object, message: str) -> None:
    table(tmp_path)
    place = tmp_path / file
    if callable(change):
        place.write_bytes(change(place.read_bytes()))
    else:
        place.unlink()
    with pytest.raises(DatasetError, match=message):
        ConceptTable.load(str(tmp_path))


def test_the_list_of_stop_words_is_kept_and_older_tables_are_of_the_short_one(tmp_path: Path) -> None:
    older = TableHead.from_json({k: v for k, v in head(1).to_json().items() if k != "stop_words"})
    assert older == head(1)
    nltk = replace(head(1), stop_words="nltk")
    assert TableHead.from_json(nltk.to_json()) == nltk
    assert nltk.fingerprint != older.fingerprint
    assert nltk.letters == "n,v"
