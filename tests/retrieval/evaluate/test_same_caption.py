"""Every item with a query's caption is right: ranks, average precision and chance against slow code."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders.captioned import captioned_clips, captioned_videos
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.evaluated_rows import video_rows
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.rankings import QuerySample, evaluate_retrieval
from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.metrics.ranks import from_matrix
from vtr_core.retrieval.evaluate.protocols import SameCaption, caption_keys

CLIPS = np.array([7, 7, 3, 9, 4, 4])
CAPTIONS = np.array([50, 60, 50, 70, 80, 60])
"""Clip 7 has the captions 50 and 60, clip 3 has 50 too, clip 4 has 80 and 60, clip 9 alone has 70."""


def _rows(known: tuple[bool, ...] = (True,) * 6) -> EmbeddedRows:
    generator = np.random.default_rng(3)
    of_clip = {clip: generator.normal(size=5).astype(np.float32) for clip in np.unique(CLIPS)}
    video = np.stack([of_clip[clip] for clip in CLIPS])
    text = generator.normal(size=(6, 5)).astype(np.float32)
    present = {"video": np.ones(6, bool), "text": np.array(known)}
    return EmbeddedRows({"text": text, "video": video}, present, CLIPS, CLIPS)


def _slow(rows: EmbeddedRows) -> dict[str, tuple[list[int], list[float]]]:
    """By direction, the rank of the best right item and the average precision of each query, by loops."""
    clips = [7, 3, 9, 4]
    held = {clip: {c for k, c in zip(CLIPS, CAPTIONS, strict=True) if k == clip} for clip in clips}
    first = {clip: list(CLIPS).index(clip) for clip in clips}
    texts, videos = rows.vectors["text"], {clip: rows.vectors["video"][first[clip]] for clip in clips}
    found = {}
    of_text = [[(float(texts[r] @ videos[k]), CAPTIONS[r] in held[k]) for k in clips] for r in range(6)]
    of_clip = [[(float(texts[r] @ videos[k]), CAPTIONS[r] in held[k]) for r in range(6)] for k in clips]
    for name, queries in (("t2v", of_text), ("v2t", of_clip)):
        ranks, precisions = [], []
        for items in queries:
            places = [place for place, (_, right) in enumerate(sorted(items, key=lambda x: -x[0]), 1) if right]
            ranks.append(places[0])
            precisions.append(sum(n / place for n, place in enumerate(places, 1)) / len(places))
        found[name] = (ranks, precisions)
    return found


def test_ranks_and_precisions_are_those_of_all_items_with_the_caption() -> None:
    rows = _rows()
    directions = evaluate_retrieval(rows, "dot", relevant=SameCaption(rows, CAPTIONS))
    slow = _slow(rows)
    assert [one.name for one in directions] == ["t2v", "v2t"]
    for one in directions:
        ranks, precisions = slow[one.name]
        assert one.metrics.mean_rank == pytest.approx(np.mean(ranks))
        assert one.metrics.median_rank == pytest.approx(np.median(ranks))
        assert one.metrics.recall[1] == pytest.approx(np.mean(np.array(ranks) == 1))
        assert one.metrics.mean_average_precision == pytest.approx(np.mean(precisions))


def test_chance_is_that_of_a_random_order_of_so_many_right_items() -> None:
    rows = _rows()
    t2v = evaluate_retrieval(rows, "dot", relevant=SameCaption(rows, CAPTIONS))[0]
    # Captions 50 and 60 are right for two of four clips, 70 and 80 for one.
    assert t2v.chance.recall[1] == pytest.approx((4 * 2 / 4 + 2 * 1 / 4) / 6)


def test_a_caption_without_a_known_word_finds_nothing_and_sampled_queries_keep_their_captions() -> None:
    rows = _rows(known=(True, False, True, True, True, True))
    relevant = SameCaption(rows, CAPTIONS)
    whole = evaluate_retrieval(rows, "dot", relevant=relevant)[0]
    assert whole.num_unanswerable == 1
    drawn = evaluate_retrieval(rows, "dot", QuerySample(5, seed=1), relevant)[0]
    assert drawn.metrics.num_queries == 5
    kept = QuerySample(5, seed=1).drawn(6)
    texts, first = rows.vectors["text"][kept], [0, 2, 3, 4]
    right = np.array([[any(CAPTIONS[CLIPS[f] == CLIPS] == CAPTIONS[q]) for f in first] for q in kept])
    right[~rows.present["text"][kept]] = False
    expected = retrieval_metrics(texts @ rows.vectors["video"][first].T, from_matrix(right), missing="count_as_failure")
    assert drawn.metrics.recall == pytest.approx(expected.recall)


SAID = {"a": ["dog runs", "cat"], "b": ["cat", "cat", "bird"], "c": ["dog runs"], "d": ["fish"]}


def test_keys_come_in_the_order_of_rows(tmp_path: Path) -> None:
    clips, videos = captioned_clips(tmp_path / "clips", SAID), captioned_videos(tmp_path / "videos", SAID)
    reader = RowGroupReader(clips, ["caption"])
    in_order = {
        "clips": (clips, [c for place in row_groups(clips) for c in reader.read(place)["caption"]]),
        "videos": (videos, [c for rows in video_rows(videos, row_groups(videos), 4) for c in rows.captions]),
    }
    for manifest, captions in in_order.values():
        keys = caption_keys(manifest)
        assert sorted(captions) == sorted(caption for texts in SAID.values() for caption in texts)
        for i, caption in enumerate(captions):
            assert [bool(key) for key in keys == keys[i]] == [other == caption for other in captions]
