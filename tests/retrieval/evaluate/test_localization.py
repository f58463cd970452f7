"""Steps scored second by second: by a model that reads concepts off its input, and by one trained on clips alone."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.builders.toy_steps import toy_steps
from vtr_core.data.batches import ClipBatch
from vtr_core.data.manifest import Manifest
from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.synthetic import SyntheticSteps
from vtr_core.data.worlds.narrated_videos import ACTION, OBJECT, TOOL
from vtr_core.data.worlds.step_tasks import synthetic_step_video, synthetic_task
from vtr_core.errors import DatasetError
from vtr_core.metrics.localization import StepTruth, whole_seconds
from vtr_core.metrics.ranks import MetricError
from vtr_core.metrics.step_figures import ScoredVideo, by_chance, localise
from vtr_core.nn.embeddings import Embeddings
from vtr_core.retrieval.evaluate.localization import SecondModel, score_steps, windowed
from vtr_core.text.tokens.vocabulary import Vocabulary

WORDS = Vocabulary(("thing0", "thing1", "thing2", "thing3", "do"))


class Reader(nn.Module):
    """Video is its own vector, audio (a, b) is (a, b, 0), and text the sum of (word, 1, 0) over its words."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.rows: list[int] = []

    def forward(self, batch: ClipBatch) -> Embeddings:
        self.rows.append(batch.rows)
        assert not self.training
        known = (batch.tokens != 0).float()
        text = torch.stack([batch.tokens.float().sum(1), known.sum(1), 0 * known.sum(1)], dim=1)
        present = {"text": batch.text_present, **batch.present}
        vectors: dict[str, Tensor] = {"text": text, "video": batch.features["video"].float()}
        vectors["audio"] = nn.functional.pad(batch.features["audio"].float(), (0, 1))
        vectors = {name: self.scale * v * present[name][:, None] for name, v in vectors.items()}
        return Embeddings(vectors, present)


def using(**changes: object) -> SecondModel:
    given: dict[str, object] = {
        "model": Reader(),
        "features": {"video": 3, "audio": 2},
        "vocabulary": WORDS,
        "max_words": 20,
        "similarity": "dot",
        "max_rows": 2,
    }
    return SecondModel(**{**given, **changes})  # type: ignore[arg-type]


def by_steps(videos: Sequence[ScoredVideo]) -> dict[int, ScoredVideo]:
    return {len(video.truth.labels) - 1: video for video in videos}


@pytest.fixture
def toy(tmp_path: Path) -> Manifest:
    return toy_steps(tmp_path)


def text(step: int) -> list[int]:
    """Of the words of "Do thing<k> of video<v>" the model knows "do" (5) and "thing<k>" (k + 1), k < 4."""
    return [step + 6, 2, 0] if step < 4 else [5, 1, 0]


def test_scores_compare_each_second_with_each_step(toy: Manifest) -> None:
    scored = score_steps(using(), toy)
    for v, video in by_steps(scored.videos).items():
        seconds = (3, 0, 4, 5, 1)[v]
        expected = [[np.dot([v, t, v + t], text(k)) for k in range(v + 1)] for t in range(seconds)]
        assert video.scores.tolist() == np.reshape(expected, (seconds, v + 1)).tolist()
        assert video.truth.task == f"task{v % 2}"
        assert video.truth.labels == tuple(str(k % 2) for k in range(v + 1))
        assert video.truth.segments == tuple(whole_seconds(k + 0.25, k + 1.5, str(k % 2)) for k in range(v))
    assert (scored.num_without_frames, scored.num_too_short, scored.num_without_truth) == (1, 1, 1)
    assert scored.unknown_steps == ()


def test_beyond_a_zero_text_the_length_of_a_second_is_not_counted(toy: Manifest) -> None:
    """Of a distance, what the step's text changes is left: −‖v − s‖ + ‖v‖; of a dot product nothing is taken away."""
    scored = by_steps(score_steps(using(similarity="neg_euclidean", beyond_zero_text=True), toy).videos)
    seconds = [np.array([3, t, 3 + t]) for t in range(5)]
    expected = [[np.linalg.norm(v) - np.linalg.norm(v - text(k)) for k in range(4)] for v in seconds]
    np.testing.assert_allclose(scored[3].scores, expected, atol=1e-5)
    dot, beyond = score_steps(using(), toy), score_steps(using(beyond_zero_text=True), toy)
    assert [video.scores.tolist() for video in dot.videos] == [video.scores.tolist() for video in beyond.videos]


def test_no_batch_is_larger_than_asked(toy: Manifest) -> None:
    small, large = Reader(), Reader()
    pieces, whole = score_steps(using(model=small), toy), score_steps(using(model=large, max_rows=100), toy)
    assert max(small.rows) == 2
    assert max(large.rows) == 5
    for one, other in zip(pieces.videos, whole.videos, strict=True):
        assert (one.scores == other.scores).all()
    assert small.training, "the model is left as it was"


def test_audio_counts_half_where_there_is_any(toy: Manifest) -> None:
    video, both = score_steps(using(), toy), score_steps(using(audio=True), toy)
    for v, scored in by_steps(both.videos).items():
        expected = by_steps(video.videos)[v].scores.copy()
        heard = np.dot([[v, v, 0]], np.transpose([text(k) for k in range(v + 1)]))
        if v % 3 == 0:
            expected[:2] = (expected[:2] + heard) / 2
        assert scored.scores.tolist() == expected.tolist()


def test_steps_of_unknown_words_are_named_worst_and_missed(toy: Manifest) -> None:
    scored = score_steps(using(vocabulary=Vocabulary(("thing1",))), toy)
    texts = {f"Do thing{k} of video{v}" for v in range(5) for k in range(v + 1) if k != 1}
    assert set(scored.unknown_steps) == texts
    video = by_steps(scored.videos)[3]
    assert video.unscored == (0, 2, 3)
    assert (video.scores[:, [0, 2, 3]] == video.scores[:, 1].min()).all()
    nothing = by_steps(scored.videos)[0]
    assert (nothing.unscored, nothing.scores.tolist()) == ((0,), [[0.0]] * 3)


def test_a_window_pools_the_seconds_around() -> None:
    frames = np.array([[1, 0], [0, 5], [3, 1], [0, 0]], np.float16)
    assert windowed(frames, 1) is frames
    assert windowed(frames, 2).tolist() == [[1, 5], [3, 5], [3, 1], [0, 0]]
    assert windowed(frames, 3).tolist() == [[1, 5], [3, 5], [3, 5], [3, 1]]
    assert windowed(frames, 2, mean=True).tolist() == [[0.5, 2.5], [1.5, 3], [1.5, 0.5], [0, 0]]
    assert windowed(frames[:0], 3).shape == (0, 2)


def test_the_window_is_applied_to_frames(toy: Manifest) -> None:
    scored = by_steps(score_steps(using(window=9), toy).videos)[2]
    assert (scored.scores == scored.scores[0]).all()
    assert scored.scores[0].tolist() == [np.dot([2, 3, 5], text(k)) for k in range(3)]


def test_features_that_are_not_there_are_named(toy: Manifest) -> None:
    with pytest.raises(DatasetError, match="needs audio in both"):
        score_steps(using(features={"video": 3}, audio=True), toy)
    with pytest.raises(DatasetError, match="needs video in both"):
        score_steps(using(features={"audio": 2}), toy)


def test_scores_that_are_not_finite_name_the_video(toy: Manifest) -> None:
    broken = Reader()
    broken.scale.data.fill_(float("nan"))
    with pytest.raises(MetricError, match=r"v[0-4]: the model gives scores that are not finite"):
        score_steps(using(model=broken), toy)


def test_the_latent_truth_finds_planted_steps() -> None:
    """Scores that count the concepts of a step which a second shows place every step where it was planted."""
    world = SyntheticSteps(num_tasks=6, videos_per_task=5)
    videos = []
    for entry in world.videos(Drops()):
        task, index = entry.content
        shown, steps = synthetic_step_video(world, task, index), synthetic_task(world, task)
        slots = [ACTION, OBJECT, TOOL]
        alike = shown.content.concepts[:, None, slots] == steps.concepts[None, :, slots]
        segments = tuple(whole_seconds(float(a), float(b), str(step)) for step, a, b in shown.spans)
        labels = tuple(str(step) for step in range(len(steps.steps)))
        videos.append(ScoredVideo(StepTruth(str(task), labels, segments), alike.sum(axis=2) - 2.5))
    for exactly_one in (True, False):
        figures = localise(videos, exactly_one).flat()
        assert figures["recall_task"] > 0.99
        assert by_chance(videos, exactly_one, 3, 0).recall < 0.3
    assert figures["iou_segment"] > 0.9
