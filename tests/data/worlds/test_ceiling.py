import numpy as np
import pytest

from vtr_core.data.worlds.ceiling import Oracle, best_possible
from vtr_core.data.worlds.narrated_videos import SyntheticSettings, captions, clip_id, lexicon, truth
from vtr_core.text.tokens.vocabulary import tokenise


def rows_of(settings, videos=None):
    rows = []
    for video in videos or range(settings.num_videos):
        content = truth(settings, video)
        rows += [(clip_id(video, c), text) for c, text in enumerate(captions(settings, video, content))]
    return rows


def slow_scores(settings, rows):
    """P(Q | clip) / P(Q) by the definition: every pair by itself, one neighbour after the other."""
    meanings = lexicon(settings.num_concepts)
    scores = np.zeros((len(rows), len(rows)))
    for q, (_, caption) in enumerate(rows):
        asked = [meanings[word] for word in tokenise(caption) if word in meanings]
        prior = np.prod([settings.frequencies[concept] for _, concept in asked])
        for i, (clip, _) in enumerate(rows):
            video, place = int(clip[3:11]), int(clip[12:])
            content = truth(settings, video).concepts
            shows = [all(content[c, slot] == concept for slot, concept in asked) for c in range(len(content))]
            beside = [shows[c] for c in (place - 1, place + 1) if 0 <= c < len(content)]
            m = settings.misalignment if beside else 0.0
            scores[q, i] = ((1 - m) * shows[place] + m * (np.mean(beside) if beside else 0.0)) / prior
    return scores


def test_scores_are_those_of_the_definition():
    world = SyntheticSettings(num_clips=60, num_concepts=4, misalignment=0.3, min_clips=1, max_clips=4)
    rows = rows_of(world)
    np.testing.assert_allclose(Oracle(world, rows).scores(slice(0, len(rows))), slow_scores(world, rows), rtol=1e-12)
    np.testing.assert_array_equal(
        Oracle(world, rows).scores(slice(5, 9)), Oracle(world, rows).scores(slice(0, None))[5:9]
    )


def test_only_given_clips_count_and_neighbours_need_not_be_among_them():
    world = SyntheticSettings(num_clips=60, num_concepts=4)
    rows = rows_of(world)[1::3]
    np.testing.assert_allclose(Oracle(world, rows).scores(slice(0, None)), slow_scores(world, rows), rtol=1e-12)


def test_the_right_clip_always_has_a_chance():
    world = SyntheticSettings(num_clips=500)
    scores = Oracle(world, rows_of(world)).scores(slice(0, None))
    assert (np.diag(scores) > 0).all()


def test_recall_counts_ties_in_expectation():
    world = SyntheticSettings(num_clips=100, num_concepts=3)
    rows = rows_of(world)
    scores = slow_scores(world, rows)
    expected = {1: 0.0, 5: 0.0}
    for q in range(len(rows)):
        above = sum(scores[q, i] > scores[q, q] for i in range(len(rows)))
        tied = sum(scores[q, i] == scores[q, q] for i in range(len(rows)))
        for k in expected:
            expected[k] += sum(rank <= k for rank in range(above + 1, above + tied + 1)) / tied / len(rows)
    assert best_possible(world, rows, ks=(1, 5), chunk=7) == pytest.approx(expected)


def test_the_ceiling_is_calibrated():
    """Over many narrations of the same clips, the right clip comes first as often as the posterior says."""
    world = SyntheticSettings(num_clips=120, num_concepts=5, misalignment=0.3)
    said, came = [], []
    for seed in range(20):
        drawn = world.model_copy(update={"seed": seed})
        rows = rows_of(drawn)
        scores = Oracle(drawn, rows).scores(slice(0, None))
        said.append((scores.max(axis=1) / scores.sum(axis=1)).mean())
        came.append(best_possible(drawn, rows, ks=(1,))[1])
    assert np.mean(came) == pytest.approx(np.mean(said), abs=0.015)


def test_no_other_use_of_the_truth_ranks_better():
    world = SyntheticSettings(num_clips=6000, misalignment=0.3)
    rows = rows_of(world, range(160))
    best = best_possible(world, rows)
    believing = world.model_copy(update={"misalignment": 0.0})
    doubting = world.model_copy(update={"misalignment": 0.9})
    for other in (believing, doubting):
        scores = Oracle(other, rows).scores(slice(0, None)) + 1e-9 * np.random.default_rng(0).random((len(rows),) * 2)
        rank = (scores > np.diag(scores)[:, None]).sum(axis=1)
        assert all((rank < k).mean() < best[k] + 0.01 for k in best)
        assert (rank < 10).mean() < best[10]


def test_an_aligned_world_that_says_everything_is_easy_and_the_default_is_not():
    easy = SyntheticSettings(num_clips=10000, misalignment=0.0, mention=1.0, num_concepts=1000)
    assert best_possible(easy, rows_of(easy, range(160)))[1] > 0.99
    default = SyntheticSettings(num_clips=10000)
    assert 0.8 < best_possible(default, rows_of(default, range(160)))[10] < 0.95
