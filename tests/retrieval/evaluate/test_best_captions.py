"""A video searches for videos by their best caption: the rule is that of obvious loops, whatever the blocks."""

import numpy as np
import pytest

from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.retrieval.evaluate import protocols
from vtr_core.retrieval.evaluate.protocols import best_captions

RNG = np.random.default_rng(5)
VIDEOS = np.array([7, 3, 7, 3, 3, 9, 5, 5, 7, 2])  # of clips 0 … 9, not in order
CLIPS = np.repeat(np.arange(10), [2, 1, 1, 3, 1, 1, 1, 2, 1, 1])  # rows: several captions of a clip
OF_ROW = VIDEOS[CLIPS]
N = len(CLIPS)
KNOWN = np.arange(N) % 6 != 4
KNOWN[OF_ROW == 2] = False  # video 2 has no caption with a known word
SEEN = (np.arange(10) != 3)[CLIPS] & (OF_ROW != 5)  # a clip of video 3, and all of video 5, cannot be seen
BY_CLIP = RNG.standard_normal((10, 4)).astype(np.float32)
TEXT = (BY_CLIP[CLIPS] + RNG.standard_normal((N, 4))).astype(np.float32)


@pytest.fixture
def rows():
    present = {"text": KNOWN, "video": SEEN}
    vectors = {"text": TEXT, "video": BY_CLIP[CLIPS]}
    vectors = {name: np.where(present[name][:, None], values, 0) for name, values in vectors.items()}
    return EmbeddedRows(vectors, present, CLIPS, OF_ROW)


@pytest.mark.parametrize("chunks", [(512, 16384), (1, 1), (2, 4)])
def test_a_clip_searches_for_the_best_of_every_clips_captions(rows, chunks, monkeypatch):
    monkeypatch.setattr(protocols, "QUERY_CHUNK", chunks[0])
    monkeypatch.setattr(protocols, "ITEM_CHUNK", chunks[1])
    (found,) = best_captions(rows, "dot")
    items = sorted(set(CLIPS[KNOWN]))
    queries = [clip for clip in items if SEEN[clip == CLIPS].all()]
    scores = [
        [max(BY_CLIP[query] @ TEXT[row] for row in range(N) if KNOWN[row] and CLIPS[row] == item) for item in items]
        for query in queries
    ]
    expected = retrieval_metrics(np.array(scores, np.float32), np.equal.outer(queries, items))
    assert (found.name, found.num_unanswerable) == ("v2t", 0)
    assert found.metrics.recall == expected.recall
    assert (found.metrics.mean_rank, found.metrics.num_items) == (expected.mean_rank, len(items))
    assert found.metrics.mean_rank < evaluated_plainly(rows).mean_rank  # other captions of a clip take no places


def evaluated_plainly(rows):
    from vtr_core.embedding.rankings import evaluate_retrieval

    return {d.name: d for d in evaluate_retrieval(rows, "dot")}["v2t"].metrics


def test_rows_without_video_have_no_clip_that_searches(rows):
    unseen = {**rows.present, "video": np.zeros(N, bool)}
    assert best_captions(EmbeddedRows(rows.vectors, unseen, rows.clip_key, rows.video_key), "dot") == []
