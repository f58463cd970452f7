import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from tests.reference import granularity as reference
from vtr_core.losses.gmc import bias_loss, fusion_contrastive_loss, margin_contrastive_loss
from vtr_core.losses.granularity import margined_cosine


def waves(phase: float, rows: int, columns: int, rate: float, wave: str) -> Tensor:
    place = torch.arange(rows * columns, dtype=torch.float64).view(rows, columns) * rate + phase
    return place.sin() if wave == "sin" else place.cos()


U, P = waves(0.2, 5, 6, 0.31, "sin"), waves(0.35, 5, 6, 0.31, "sin")
u, p = waves(0.1, 5, 3, 0.53, "cos"), waves(0.4, 5, 3, 0.53, "cos")
SCORES = normalize(U, dim=1) @ normalize(P, dim=1).T
BIAS = normalize(u, dim=1) @ normalize(p, dim=1).T


def random_cosines(rows: int = 6, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    a, b = (normalize(torch.randn(rows, 4, generator=generator, dtype=torch.float64), dim=1) for _ in range(2))
    return a @ b.T


def test_golden_values() -> None:
    assert bias_loss(BIAS, 0.1).item() == pytest.approx(0.3462234323, abs=1e-10)
    margin = margin_contrastive_loss(SCORES, BIAS.diagonal(), 0.07)
    assert margin.item() == pytest.approx(0.1616230447, abs=2e-6)
    published = margin_contrastive_loss(SCORES, (u * p).sum(dim=1), 0.07, compat="bcloss")
    assert published.item() == pytest.approx(0.7457941069, abs=2e-6)


@pytest.mark.parametrize("seed", range(4))
def test_losses_are_those_of_plain_code(seed: int) -> None:
    scores, others = random_cosines(seed=seed), random_cosines(seed=seed + 10)
    rows, matched = scores.tolist(), others.diagonal().tolist()
    assert bias_loss(scores, 0.2).item() == pytest.approx(reference.bias(rows, 0.2))
    assert fusion_contrastive_loss(scores, 1.0).item() == pytest.approx(reference.fusion(rows, 1.0))
    margin = margin_contrastive_loss(scores, others.diagonal(), 0.07)
    assert margin.item() == pytest.approx(reference.margin(rows, matched, 0.07), abs=1e-5)
    published = margin_contrastive_loss(scores, others.diagonal(), 0.07, compat="bcloss")
    assert published.item() == pytest.approx(reference.published(rows, matched, 0.07), abs=1e-5)


def test_what_is_no_negative_is_left_out() -> None:
    scores, kept = random_cosines(), torch.rand(6, 6, generator=torch.Generator().manual_seed(3)) < 0.6

    def counts(i: int, j: int) -> bool:
        return bool(kept[i, j])

    assert bias_loss(scores, 0.2, kept).item() == pytest.approx(reference.bias(scores.tolist(), 0.2, counts))
    bias = random_cosines(seed=5).diagonal()
    found = margin_contrastive_loss(scores, bias, 0.1, kept)
    assert found.item() == pytest.approx(reference.margin(scores.tolist(), bias.tolist(), 0.1, counts), abs=1e-5)


@pytest.mark.parametrize("compat", ["none", "bcloss"])
def test_gradients_are_right(compat: str) -> None:
    scores = random_cosines().clamp(-0.3, 0.9).requires_grad_()
    bias = random_cosines(seed=7).diagonal().clamp(0.35, 0.9).clone().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda s, b: margin_contrastive_loss(s, b, 0.3, compat=compat, detach=False), (scores, bias)
    )


def test_a_detached_margin_has_no_gradient_and_changes_none_of_the_scores() -> None:
    scores, bias = random_cosines().clamp(-0.3, 0.9), random_cosines(seed=7).diagonal().clamp(0.35, 0.9)
    found = []
    for detach in (True, False):
        s, b = scores.clone().requires_grad_(), bias.clone().requires_grad_()
        margin_contrastive_loss(s, b, 0.3, detach=detach).backward()
        assert (b.grad is None) == detach
        found.append(s.grad)
    assert torch.allclose(*found)


def test_gradients_of_the_other_losses_are_right() -> None:
    scores = random_cosines().requires_grad_()
    assert torch.autograd.gradcheck(lambda s: bias_loss(s, 0.2), (scores,))
    assert torch.autograd.gradcheck(lambda s: fusion_contrastive_loss(s, 0.5), (scores,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("compat", ["none", "bcloss"])
def test_cosines_of_one_and_minus_one_give_finite_gradients(dtype: torch.dtype, compat: str) -> None:
    for value in (-1.0, 1.0, 1.0000001, -1.0000001):
        for angle in (-1.0, 0.0, 1.0):
            scores = torch.full((3, 3), value, dtype=dtype, requires_grad=True)
            bias = torch.full((3,), angle, dtype=dtype, requires_grad=True)
            loss = margin_contrastive_loss(scores, bias, 0.07, compat=compat, detach=False)
            loss.backward()
            assert torch.isfinite(loss)
            assert scores.grad is not None
            assert bias.grad is not None
            assert torch.isfinite(scores.grad).all()
            assert torch.isfinite(bias.grad).all()


def test_the_margin_stops_at_pi() -> None:
    cosine = torch.tensor([-0.9, 0.5], dtype=torch.float64)
    bias = torch.tensor([-0.2, 1.0], dtype=torch.float64)
    assert margined_cosine(cosine, bias).tolist() == pytest.approx([-1.0, 0.5], abs=2e-4)


def test_half_precision_is_raised() -> None:
    assert bias_loss(random_cosines().bfloat16(), 0.2).dtype == torch.float32
