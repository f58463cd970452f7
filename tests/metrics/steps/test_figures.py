"""Recall and overlaps of localised steps against loops over seconds, and the rules for what is missing."""

import numpy as np
import pytest

from tests.reference import localization as reference
from vtr_core.metrics.localization import (
    Overlap,
    Segment,
    StepHits,
    StepTruth,
    mean_overlap,
    ordered_steps,
    step_hits,
    step_overlap,
    step_recall,
    whole_seconds,
)
from vtr_core.metrics.ranks import MetricError
from vtr_core.metrics.step_figures import (
    ScoredVideo,
    by_chance,
    centred,
    centred_by_step,
    localise,
)

LABELS = "abc"


def assignment_of(seconds: int, *steps: tuple[int, ...]) -> np.ndarray:
    assignment = np.zeros((seconds, len(steps)), bool)
    for step, shown in enumerate(steps):
        assignment[list(shown), step] = True
    return assignment


def random_truth(generator: np.random.Generator, steps: int, seconds: int) -> StepTruth:
    labels = tuple(LABELS[i] for i in generator.integers(3, size=steps))
    firsts = generator.integers(seconds, size=generator.integers(1, 5)).tolist()
    segments = [Segment(f, f + int(generator.integers(1, 6)), labels[generator.integers(steps)]) for f in firsts]
    return StepTruth("task", labels, tuple(segments))


@pytest.mark.parametrize("exactly_one", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_figures_of_a_video_are_those_of_loops(seed: int, exactly_one: bool) -> None:
    generator = np.random.default_rng(seed)
    seconds, steps = int(generator.integers(2, 15)), int(generator.integers(1, 5))
    truth = random_truth(generator, steps, seconds)
    assignment = ordered_steps(generator.standard_normal((seconds, steps)), exactly_one=exactly_one).assignment
    shown = [np.flatnonzero(column).tolist() for column in assignment.T]
    segments = [(s.first, s.end, s.label) for s in truth.segments]
    hits = step_hits(assignment, truth)
    assert (hits.hits, hits.total) == reference.hits(shown, truth.labels, segments)
    overlap = step_overlap(assignment, truth)
    assert overlap is not None
    expected = reference.segment_overlap(shown, truth.labels, segments)
    assert (overlap.iod, overlap.iou) == pytest.approx(expected)


def test_times_become_every_second_they_touch() -> None:
    assert whole_seconds(2.3, 4.1, "a") == Segment(2, 5, "a")
    assert whole_seconds(2.0, 4.0, "a") == Segment(2, 4, "a")


def test_a_span_hits_with_its_middle_second() -> None:
    truth = StepTruth("t", ("a",), (Segment(4, 6, "a"),))
    for shown, hit in [((4,), 1), ((3,), 0), ((2, 3, 4, 5, 6), 1), ((0, 1, 2, 3, 4), 0), ((3, 4), 0), ((4, 5), 1)]:
        assert step_hits(assignment_of(9, shown), truth).hits == hit


def test_only_annotated_steps_count_and_labels_match_wherever_they_stand() -> None:
    truth = StepTruth("t", ("a", "b", "a"), (Segment(0, 2, "a"),))
    assert step_hits(assignment_of(5, (0,), (1,), (4,)), truth) == StepHits("t", 1, 2)
    assert step_hits(assignment_of(5, (), (), ()), truth) == StepHits("t", 0, 2)


def test_recall_is_a_mean_over_tasks() -> None:
    videos = [StepHits("x", 1, 1), StepHits("x", 0, 3), StepHits("y", 1, 2), StepHits("y", 0, 0)]
    assert step_recall(videos) == pytest.approx((1 / 4 + 1 / 2) / 2)


def test_nothing_annotated_has_no_figures() -> None:
    empty = StepTruth("t", ("a",), ())
    assert step_hits(assignment_of(3, (1,)), empty) == StepHits("t", 0, 0)
    assert step_overlap(assignment_of(3, (1,)), empty) is None
    half = Overlap(0.5, 0.25)
    assert mean_overlap([None, half]) == half
    with pytest.raises(MetricError, match="none of 1 videos has an annotated step"):
        step_recall([StepHits("t", 0, 0)])
    with pytest.raises(MetricError, match="none of 1 videos has an annotated segment"):
        mean_overlap([None])
    with pytest.raises(MetricError, match="none of 0 videos"):
        localise([], True)


def world(generator: np.random.Generator, knows: bool) -> list[ScoredVideo]:
    videos = []
    for _ in range(60):
        firsts = np.sort(generator.choice(20, 3, replace=False)) * 2
        segments = tuple(Segment(int(f), int(f) + 2, name) for f, name in zip(firsts, LABELS, strict=True))
        scores = 0.1 * generator.standard_normal((40, 3)) - 0.5
        for step, segment in enumerate(segments):
            scores[segment.first : segment.end, step] += 1.0 * knows
        videos.append(ScoredVideo(StepTruth("t", tuple(LABELS), segments), scores))
    return videos


@pytest.mark.parametrize("exactly_one", [True, False])
def test_scores_that_know_find_everything_and_others_are_chance(exactly_one: bool) -> None:
    known = world(np.random.default_rng(0), True)
    figures = localise(known, exactly_one).flat()
    assert figures["recall_task"] == figures["iod_segment"] == 1.0
    assert figures["iou_segment"] == (0.5 if exactly_one else 1.0)
    blind = world(np.random.default_rng(0), False)
    chance = by_chance(blind, exactly_one, draws=5, seed=0)
    assert localise(blind, exactly_one).recall == pytest.approx(chance.recall, abs=0.06)
    assert chance.recall < 0.25
    assert by_chance(blind, exactly_one, 5, 0) == chance != by_chance(blind, exactly_one, 5, 1)


def test_a_step_without_a_score_is_never_placed() -> None:
    truth = StepTruth("t", ("a", "b"), (Segment(0, 5, "a"), Segment(5, 10, "b")))
    video = ScoredVideo(truth, np.repeat(np.eye(2), 5, axis=0), unscored=(0,))
    assert localise([video], False).recall == 0.5
    assert by_chance([ScoredVideo(truth, np.zeros((10, 2)), (0, 1))], True, 3, 0).recall == 0.0


def test_a_video_without_frames_is_missed_whole() -> None:
    truth = StepTruth("t", ("a",), (Segment(0, 5, "a"),))
    missing = ScoredVideo(truth, np.zeros((0, 1)))
    found = ScoredVideo(truth, np.ones((3, 1)))
    for figures in (localise([missing, found], True), by_chance([missing, found], True, 2, 0)):
        assert (figures.recall, figures.overlap.iod) == (0.5, 0.5)


def test_a_step_that_is_far_from_every_second_keeps_its_span_where_each_step_has_its_own_mean() -> None:
    """Under a distance the second step is 5 farther from all seconds: by the mean of the video it has one second."""
    near = np.array(
        [[2.0, 0, 0, 0], [2, 0, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0], [0, 2, 0, 0], [0, 2, 0, 0], [0, 2, 0, 0]]
    )
    truth = StepTruth("t", ("a", "b"), (Segment(0, 3, "a"), Segment(4, 7, "b")))
    video = ScoredVideo(truth, near[:, :2] - np.array([1.0, 6.0]))
    by_video, by_step = (
        localise([centred(video)], exactly_one=False),
        localise([centred_by_step(video)], exactly_one=False),
    )
    assert by_step.overlap.iou == 1.0
    assert by_video.overlap.iou < 0.6
    again = [localise([make(video)], exactly_one=True) for make in (centred, centred_by_step)]
    assert again[0] == again[1], "one second per step does not depend on the background"


def test_a_step_without_a_score_does_not_move_the_others() -> None:
    """Its placeholders, the video's lowest score, are no part of the mean that background competes as."""
    near = np.array([0.0, 8.0, 1.0, 1.0, 1.0, 8.0, 0.0, 0.0])
    scores = np.stack([near * (np.arange(8) < 4), near * (np.arange(8) > 3)], axis=1) + 1.0
    truth = StepTruth("t", ("a", "b", "c"), (Segment(1, 2, "a"),))
    known = ScoredVideo(StepTruth("t", ("a", "b"), truth.segments), scores)
    video = ScoredVideo(truth, np.concatenate([scores, np.ones((8, 1))], axis=1), (2,))
    alone, beside = (ordered_steps(-centred(one).scores, exactly_one=False).assignment for one in (known, video))
    np.testing.assert_array_equal(beside[:, :2], alone)
    np.testing.assert_array_equal(centred(video).scores[:, :2], centred(known).scores)
