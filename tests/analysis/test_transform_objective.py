import pytest
import torch

from tests.reference import causality as reference
from vtr_core.analysis import transform_objective
from vtr_core.analysis.concept_space import ConceptSpace
from vtr_core.analysis.transform_objective import LatentPart, TransformObjective
from vtr_core.analysis.transforms import Transform
from vtr_core.similarity import hybrid

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


def test_with_a_latent_part_accuracy_is_that_of_the_hybrid_and_causality_counts_the_concepts_share():
    space = _space()
    latent = torch.randn(7, 3, generator=torch.Generator().manual_seed(3))
    found = TransformObjective(space, k=3, latent=LatentPart(latent, 0.6))(CHANGE)
    scores = hybrid(latent, space.scores(CHANGE), 0.6, "matrix")
    precisions = reference.matched_precisions(scores.tolist(), space.caption_video.tolist())
    assert found.accuracy == pytest.approx(sum(precisions) / 2, rel=1e-9)
    assert found.causality == pytest.approx(0.4 * _causality(space, 3), rel=1e-6)


def test_a_transform_is_measured_once(monkeypatch):
    calls = []
    measure = transform_objective.concept_similarity
    monkeypatch.setattr(transform_objective, "concept_similarity", lambda *args: calls.append(args) or measure(*args))
    objective = TransformObjective(_space())
    first, again = objective(CHANGE), objective(Transform("jaccard", 2.0, 0.5, 1.5))
    assert first is again
    assert len(calls) == 1
    objective(objective.identity)
    assert [one.transform for one in objective.measured] == [CHANGE, Transform("jaccard")]
