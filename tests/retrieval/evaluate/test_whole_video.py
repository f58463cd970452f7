"""All captions of a video search for it: both rules are those of obvious loops, whatever the blocks."""

import numpy as np
import pytest

from tests.reference import normalization as reference
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.retrieval.evaluate import protocols
from vtr_core.retrieval.evaluate.protocols import best_captions, caption_average, mean_embeddings

RNG = np.random.default_rng(5)
VIDEOS = np.array([7, 3, 7, 3, 3, 9, 5, 5, 7, 2])  # of clips 0 … 9, not in order
CLIPS = np.repeat(np.arange(10), [2, 1, 1, 3, 1, 1, 1, 2, 1, 1])  # rows: several captions of a clip
OF_ROW = VIDEOS[CLIPS]
N = len(CLIPS)
KNOWN = np.arange(N) % 6 != 4
KNOWN[OF_ROW == 2] = False  # video 2 has no caption with a known word
SEEN = (np.arange(10) != 3)[CLIPS] & (OF_ROW != 5)  # a clip of video 3, and all of video 5, cannot be seen
HEARD = (np.arange(10) % 2 == 0)[CLIPS] & SEEN
BY_CLIP = {name: RNG.standard_normal((10, 4)).astype(np.float32) for name in ("video", "audio")}
TEXT = (BY_CLIP["video"][CLIPS] + RNG.standard_normal((N, 4))).astype(np.float32)


@pytest.fixture
def rows():
    present = {"text": KNOWN, "video": SEEN, "audio": HEARD}
    vectors = {"text": TEXT, **{name: values[CLIPS] for name, values in BY_CLIP.items()}}
    vectors = {name: np.where(present[name][:, None], values, 0) for name, values in vectors.items()}
    return EmbeddedRows(vectors, present, CLIPS, OF_ROW)


def visible_clips(with_audio):
    """Clip, video, and the vectors of its modalities."""
    for c in range(10):
        if SEEN[c == CLIPS].all():
            heard = with_audio and HEARD[c == CLIPS].all()
            yield c, VIDEOS[c], [BY_CLIP[name][c].astype(np.float64) for name in ("video", "audio")[: 1 + heard]]


def expected_metrics(scores, query_videos, item_videos):
    """Of all five videos: those without a known caption have no row in `scores` and fail."""
    whole = np.zeros((5, len(item_videos)))
    relevant = np.zeros((5, len(item_videos)), bool)
    for row, query in zip(scores, query_videos, strict=True):
        whole[[2, 3, 5, 7, 9].index(query)] = row
        relevant[[2, 3, 5, 7, 9].index(query)] = np.array(item_videos) == query
    return retrieval_metrics(whole, relevant, missing="count_as_failure")


def same(found, expected):
    assert (found.num_queries, found.num_items) == (5, expected.num_items)
    assert found.recall == expected.recall
    assert (found.mean_rank, found.median_rank) == (expected.mean_rank, expected.median_rank)
    assert found.mean_average_precision == pytest.approx(expected.mean_average_precision)


@pytest.mark.parametrize("name", ["t2v", "t2va"])
def test_mean_embeddings(rows, name):
    found = {d.name: d for d in mean_embeddings(rows, "dot")}[name]
    clips = list(visible_clips(name == "t2va"))
    queries, items = sorted(set(OF_ROW[KNOWN])), sorted({video for _, video, _ in clips})
    texts = np.array([TEXT[KNOWN & (v == OF_ROW)].astype(np.float64).mean(axis=0) for v in queries])
    scores = np.zeros((len(queries), len(items)))
    for k, item in enumerate(items):
        own = [parts for _, video, parts in clips if video == item]
        means = [np.mean([parts[m] for parts in own if len(parts) > m], axis=0) for m in range(max(map(len, own)))]
        scores[:, k] = np.mean([texts @ mean for mean in means], axis=0)
    same(found.metrics, expected_metrics(scores, queries, items))
    assert found.num_unanswerable == 2  # video 2 has no words, video 5 nothing to see


@pytest.mark.parametrize("name", ["t2v", "t2va"])
@pytest.mark.parametrize("chunks", [(512, 16384), (1, 1), (6, 4)])
def test_caption_average(rows, name, chunks, monkeypatch):
    monkeypatch.setattr(protocols, "QUERY_CHUNK", chunks[0])
    monkeypatch.setattr(protocols, "ITEM_CHUNK", chunks[1])
    found = {d.name: d for d in caption_average(rows, "neg_euclidean")}[name]
    clips = list(visible_clips(name == "t2va"))
    of_clip = np.array([video for _, video, _ in clips])
    texts = TEXT[KNOWN].astype(np.float64)
    distances = np.transpose(
        [-np.mean([np.linalg.norm(texts - part, axis=1) for part in parts], axis=0) for _, _, parts in clips]
    )
    scores = reference.caption_average(distances, OF_ROW[KNOWN].tolist(), of_clip.tolist())
    same(found.metrics, expected_metrics(scores, sorted(set(OF_ROW[KNOWN])), sorted(set(of_clip))))
    assert found.num_unanswerable == 2


@pytest.mark.parametrize("chunks", [(512, 16384), (1, 1), (2, 4)])
def test_a_clip_searches_for_the_best_of_every_clips_captions(rows, chunks, monkeypatch):
    monkeypatch.setattr(protocols, "QUERY_CHUNK", chunks[0])
    monkeypatch.setattr(protocols, "ITEM_CHUNK", chunks[1])
    (found,) = best_captions(rows, "dot")
    items = sorted(set(CLIPS[KNOWN]))
    queries = [clip for clip in items if SEEN[clip == CLIPS].all()]
    scores = [
        [
            max(BY_CLIP["video"][query] @ TEXT[row] for row in range(N) if KNOWN[row] and CLIPS[row] == item)
            for item in items
        ]
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


def test_both_rules_are_plain_retrieval_where_a_video_is_one_clip_with_one_caption(rows):
    from vtr_core.embedding.rankings import evaluate_retrieval

    keys = np.arange(10)
    vectors = {"text": TEXT[:10], "video": BY_CLIP["video"]}
    single = EmbeddedRows(vectors, dict.fromkeys(vectors, np.ones(10, bool)), keys, keys)
    plain = evaluate_retrieval(single, "cosine")[0].metrics
    assert mean_embeddings(single, "cosine")[0].metrics == plain
    assert caption_average(single, "cosine")[0].metrics == plain
