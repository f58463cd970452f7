"""Similarities equal loops; hybrid scores have their golden values, ways to rescale and degenerate matrices."""

import numpy as np
import pytest
import torch

from tests.reference import losses as reference
from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.similarity import (
    cosine,
    cosine_to,
    dot,
    dot_to,
    generalized_jaccard,
    hybrid,
    lengths,
    most_similar_by_jaccard,
    neg_euclidean,
    similarity_function,
)

KINDS = {"dot": dot, "cosine": cosine, "neg_euclidean": neg_euclidean, "generalized_jaccard": generalized_jaccard}
GOLDEN_A = torch.sin(0.9 * torch.arange(20, dtype=torch.float64) + 0.2).abs().reshape(5, 4)
GOLDEN_B = torch.sin(0.9 * torch.arange(20, dtype=torch.float64) + 0.5).abs().reshape(5, 4)


def _pair(dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return torch.rand(7, 5, generator=generator).to(dtype), torch.rand(4, 5, generator=generator).to(dtype)


def test_cosines_with_known_lengths_are_those_of_normalised_vectors():
    a, b = _pair()
    b[1] = 0
    b[2] = b[0]
    found = cosine_to(a, b, lengths(b))
    expected = [[float(x @ y) / (float(x.norm() * y.norm()) or 1) for y in b] for x in a]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))
    torch.testing.assert_close(found, cosine(a, b))
    assert torch.equal(found[:, 2], found[:, 0])
    assert not found[:, 1].any()


@pytest.mark.parametrize("queries", [1, 2, 3, 9, 17, 24, 25])
def test_products_of_few_queries_are_those_of_each(queries):
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.rand(rows, 5, generator=generator, dtype=torch.float64) for rows in (queries, 30))
    found = dot_to(a, b)
    torch.testing.assert_close(found, torch.tensor([[sum(x * y).item() for y in b] for x in a], dtype=torch.float64))
    assert found.is_contiguous()


def test_jaccard_golden():
    expected = torch.tensor([0.72470348, 0.53543236, 0.34493766, 0.34840150, 0.39368563], dtype=torch.float64)
    torch.testing.assert_close(generalized_jaccard(GOLDEN_A, GOLDEN_B)[0], expected, atol=5e-9, rtol=0)


def test_each_equals_loops():
    a, b = _pair()
    for i in range(len(a)):
        for j in range(len(b)):
            assert dot(a, b)[i, j].item() == pytest.approx(sum(a[i] * b[j]).item(), abs=1e-12)
            length = (sum(a[i] ** 2) * sum(b[j] ** 2)) ** 0.5
            assert cosine(a, b)[i, j].item() == pytest.approx((sum(a[i] * b[j]) / length).item(), abs=1e-12)
            distance = sum((a[i] - b[j]) ** 2) ** 0.5
            assert neg_euclidean(a, b)[i, j].item() == pytest.approx(-distance.item(), abs=1e-12)
    expected = torch.tensor(reference.generalized_jaccard(a.tolist(), b.tolist()), dtype=torch.float64)
    torch.testing.assert_close(generalized_jaccard(a, b), expected)


def test_zero_vectors_have_similarity_zero_not_nan():
    zeros = torch.zeros(2, 3, requires_grad=True)
    for kind in ("cosine", "generalized_jaccard"):
        similarity = similarity_function(kind)(zeros, torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 2.0]]))
        assert (similarity == 0).all()
        similarity.sum().backward()
        assert zeros.grad.isfinite().all()


def test_euclidean_keeps_near_neighbours_apart():
    near = 100 + torch.tensor([[0.0, 0.0], [0.0, 1e-3], [0.0, 2e-3]])
    expected = torch.cdist(near.double(), near.double(), compute_mode="donot_use_mm_for_euclid_dist")
    torch.testing.assert_close(neg_euclidean(near, near).double(), -expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", list(KINDS))
def test_similarities_are_at_least_float32(kind):
    similarity = similarity_function(kind)
    assert similarity is KINDS[kind]
    plain = similarity(*_pair(torch.float32))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(similarity(*_pair(torch.float32)), plain)
    assert similarity(*_pair(torch.bfloat16)).dtype == torch.float32
    assert similarity(*_pair()).dtype == torch.float64


@pytest.mark.parametrize("kind", list(KINDS))
def test_similarities_have_gradients(kind):
    a, b = (values.requires_grad_() for values in _pair())
    assert torch.autograd.gradcheck(similarity_function(kind), (a, b))


def _probabilities(rows, dtype=torch.float32):
    scores = torch.randn(rows, 70, generator=torch.Generator().manual_seed(rows))
    probabilities = scores.sigmoid().to(dtype)
    probabilities[::7] = 0
    return probabilities


@pytest.mark.parametrize(("queries", "items"), [(40, 33), (16, 16), (3, 33), (40, 2)])
def test_jaccard_without_a_gradient_equals_the_form_with_one(queries, items):
    a, b = _probabilities(queries, torch.float64), _probabilities(items, torch.float64)
    expected = generalized_jaccard(a.requires_grad_(), b)
    with torch.no_grad():
        torch.testing.assert_close(generalized_jaccard(a, b), expected.detach(), rtol=1e-12, atol=1e-12)
    assert expected.requires_grad
    assert not generalized_jaccard(a.detach(), b).requires_grad


def test_jaccard_of_many_rows_equals_loops():
    a, b = _probabilities(20), _probabilities(35)
    expected = torch.tensor(reference.generalized_jaccard(a.double().tolist(), b.double().tolist()))
    torch.testing.assert_close(generalized_jaccard(a, b), expected.float(), atol=5e-7, rtol=0)
    assert (generalized_jaccard(torch.zeros(20, 3), torch.zeros(20, 3)) == 0).all()


@pytest.mark.parametrize("k", [1, 5, 99])
def test_most_similar_are_the_first_of_the_sorted_matrix(k):
    a, b = _probabilities(1100), _probabilities(35)
    found, items = most_similar_by_jaccard(a, b, k)
    scores = generalized_jaccard(a, b)
    torch.testing.assert_close(found, scores.sort(dim=1, descending=True).values[:, :k], rtol=0, atol=0)
    assert torch.equal(scores.gather(1, items), found)


def test_a_nan_is_passed_on_by_the_compiled_loop_too():
    a, b = torch.rand(20, 6), torch.rand(18, 6)
    a[3, 2] = b[5, 1] = float("nan")
    scores = generalized_jaccard(a, b)
    assert scores[3].isnan().all()
    assert scores[:, 5].isnan().all()
    assert scores.isnan().sum() == 18 + 20 - 1


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
