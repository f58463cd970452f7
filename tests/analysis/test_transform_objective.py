import pytest
import torch

from tests.reference import causality as reference
from vtr_core.analysis import transform_search as transform_objective
from vtr_core.analysis.transform_search import TransformObjective
from vtr_core.analysis.transforms import ConceptSpace, Transform

CHANGE = Transform("jaccard", 2.0, 0.5, 1.5)


def _space():
    generator = torch.Generator().manual_seed(2)
    scores = 2 * torch.randn(10, 12, generator=generator)
    return ConceptSpace(scores[:7], scores[7:], torch.arange(7) % 3, "jaccard")


def _causality(space, k):
    text, video = CHANGE.apply(space.text).tolist(), CHANGE.apply(space.video).tolist()
    values = [reference.causality_at_k(video[v], text[i], k, "jaccard") for i, v in enumerate(space.caption_video)]
    return sum(values) / len(values)


def test_measures_both_directions_and_matched_pairs():
    space = _space()
    found = TransformObjective(space, k=3)(CHANGE)
    precisions = reference.matched_precisions(space.scores(CHANGE).tolist(), space.caption_video.tolist())
    assert found.transform == CHANGE
    assert found.accuracy == pytest.approx(sum(precisions) / 2, rel=1e-9)
    assert found.causality == pytest.approx(_causality(space, 3), rel=1e-6)


def test_the_lower_end_of_the_gain_is_that_of_videos_drawn_again():
    space = _space()
    found = TransformObjective(space, seed=4)(CHANGE)
    owner = space.caption_video.tolist()
    before, after = (space.scores(one).tolist() for one in (space.identity, CHANGE))
    gains = []
    for scores, sign in ((after, 1), (before, -1)):
        captions, videos = reference.query_precisions(scores, owner)
        for video in range(3):
            own = sum(p for p, v in zip(captions, owner, strict=True) if v == video) * 3 / len(owner)
            gains.append(sign * (own + videos[video]) / 2)
    differences = [gains[video] + gains[3 + video] for video in range(3)]
    assert sum(differences) / 3 == pytest.approx(found.accuracy - TransformObjective(space)(space.identity).accuracy)
    assert found.gain_low == pytest.approx(reference.bootstrap_low(differences, 4), abs=1e-12)
    assert TransformObjective(space)(space.identity).gain_low == 0


def test_a_transform_is_measured_once(monkeypatch):
    calls = []
    measure = transform_objective.concept_similarity
    monkeypatch.setattr(transform_objective, "concept_similarity", lambda *args: calls.append(args) or measure(*args))
    objective = TransformObjective(_space())
    calls.clear()
    first, again = objective(CHANGE), objective(Transform("jaccard", 2.0, 0.5, 1.5))
    assert first is again
    assert len(calls) == 1
    objective(objective.identity)
    assert [one.transform for one in objective.measured] == [CHANGE, Transform("jaccard")]
