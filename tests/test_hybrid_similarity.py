"""Hybrid scores: golden values, the three ways to rescale, degenerate matrices."""

import numpy as np
import pytest
import torch

from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.similarity import hybrid

CAPTION, VIDEO = torch.arange(12, dtype=torch.float64).unsqueeze(1), torch.arange(4, dtype=torch.float64)
MATCH = CAPTION // 3 == VIDEO
LATENT = -((1 + 3 * CAPTION + 5 * VIDEO).sin() - 0.7 * MATCH)
CONCEPT = -((2 * CAPTION + 1.1 * VIDEO).cos() - 0.4 * MATCH)


def test_golden_values() -> None:
    scores = hybrid(LATENT, CONCEPT)
    t2v, v2t = retrieval_metrics(scores, MATCH), retrieval_metrics(scores.T, MATCH.T)
    assert [round(100 * t2v.recall[k], 4) for k in (1, 5, 10)] == [58.3333, 100, 100]
    assert (t2v.median_rank, t2v.mean_rank) == (1, 1.75)
    assert t2v.mean_average_precision == pytest.approx(0.7430555556, abs=1e-10)
    assert v2t.mean_average_precision == pytest.approx(0.6599206349, abs=1e-10)


def test_each_way_to_rescale_equals_its_formula() -> None:
    latent, concept = LATENT.numpy(), CONCEPT.numpy()

    def scaled(scores: np.ndarray, low: object, high: object) -> np.ndarray:
        return (scores - low) / (high - low)  # type: ignore[operator]

    by_query = [scaled(s, s.min(axis=1, keepdims=True), s.max(axis=1, keepdims=True)) for s in (latent, concept)]
    np.testing.assert_allclose(
        hybrid(LATENT, CONCEPT, 0.25, "query"), 0.25 * by_query[0] + 0.75 * by_query[1], atol=1e-12
    )
    ranges = torch.tensor([[-0.5, 0.5], [0.0, 2.0]])
    expected = 0.25 * scaled(latent, -0.5, 0.5) + 0.75 * scaled(concept, 0.0, 2.0)
    np.testing.assert_allclose(hybrid(LATENT, CONCEPT, 0.25, "train", ranges), expected, atol=1e-12)


def test_the_weight_chooses_between_the_spaces() -> None:
    for weight, scores in ((1.0, LATENT), (0.0, CONCEPT)):
        found = hybrid(LATENT, CONCEPT, weight)
        assert torch.equal(found.argsort(dim=1), scores.argsort(dim=1))


@pytest.mark.parametrize("normalise", ["matrix", "query"])
def test_a_space_that_tells_nothing_apart_adds_nothing(normalise: str) -> None:
    constant = torch.full_like(CONCEPT, 0.3)
    expected = 0.6 * hybrid(LATENT, LATENT, 1.0, normalise)  # type: ignore[arg-type]
    torch.testing.assert_close(hybrid(LATENT, constant, 0.6, normalise), expected)  # type: ignore[arg-type]


def test_half_precision_ends_in_float32() -> None:
    assert hybrid(LATENT.half(), CONCEPT.half()).dtype == torch.float32
