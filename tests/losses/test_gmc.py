"""The captioning paper's losses: values, gradients, the extractor of bias, fused pairs."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from tests.reference import granularity as slow_granularity
from vtr_core.config.losses import FusionConfig, GranularityMarginConfig
from vtr_core.data.batches import RowKeys
from vtr_core.data.captions import InformationTable
from vtr_core.losses.gmc import PairScorer, Sequences, bias_loss, fusion_contrastive_loss, margin_contrastive_loss
from vtr_core.losses.granularity import GranularityMargin, bins, correlation, nearest_bin


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
    assert bias_loss(scores, 0.2).item() == pytest.approx(slow_granularity.bias(rows, 0.2))
    assert fusion_contrastive_loss(scores, 1.0).item() == pytest.approx(slow_granularity.fusion(rows, 1.0))
    margin = margin_contrastive_loss(scores, others.diagonal(), 0.07)
    assert margin.item() == pytest.approx(slow_granularity.margin(rows, matched, 0.07), abs=1e-5)
    published = margin_contrastive_loss(scores, others.diagonal(), 0.07, compat="bcloss")
    assert published.item() == pytest.approx(slow_granularity.published(rows, matched, 0.07), abs=1e-5)


def test_what_is_no_negative_is_left_out() -> None:
    scores, kept = random_cosines(), torch.rand(6, 6, generator=torch.Generator().manual_seed(3)) < 0.6

    def counts(i: int, j: int) -> bool:
        return bool(kept[i, j])

    assert bias_loss(scores, 0.2, kept).item() == pytest.approx(slow_granularity.bias(scores.tolist(), 0.2, counts))
    bias = random_cosines(seed=5).diagonal()
    found = margin_contrastive_loss(scores, bias, 0.1, kept)
    assert found.item() == pytest.approx(slow_granularity.margin(scores.tolist(), bias.tolist(), 0.1, counts), abs=1e-5)


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


VALUES = np.array([0.111, 0.114, 0.52, 0.31, 0.9, 0.47])
TABLE = InformationTable("leave_one_out", np.array([1, 1, 2, 2, 3, 3]), np.array([11, 12, 21, 22, 31, 32]), VALUES)
KEYS = RowKeys(torch.tensor([1, 2, 3]), torch.tensor([1, 2, 3]), torch.tensor([12, 21, 32]))
COSINES = torch.tensor([[0.8, 0.1, -0.2], [0.3, 0.5, 0.0], [-0.1, 0.2, 0.6]])


def margin(**settings: object) -> GranularityMargin:
    torch.manual_seed(1)
    return GranularityMargin(GranularityMarginConfig(**{"warmup_steps": 2, "codebook_dim": 4, **settings}), TABLE)


def bias_cosines(module: GranularityMargin) -> torch.Tensor:
    video, sentence = module.extractor(KEYS.video, KEYS.caption)
    return normalize(video, dim=1) @ normalize(sentence, dim=1).T


def test_bins_are_rounded_values_and_others_take_the_nearest() -> None:
    edges = bins(np.array([0.114, 0.111, 0.52, 0.9]), 2)
    assert edges.tolist() == [0.11, 0.52, 0.9]
    assert nearest_bin(np.array([-1.0, 0.11, 0.3, 0.315, 0.33, 0.72, 5.0]), edges).tolist() == [0, 0, 0, 0, 1, 2, 2]
    assert nearest_bin(np.array([0.3, 7.0]), np.array([0.5])).tolist() == [0, 0]


def test_the_schedule_is_bias_first_then_the_margin() -> None:
    module = margin()
    assert set(module(COSINES, KEYS, slice(0, 3), 1).by_term) == {"bias"}
    assert set(module(COSINES, KEYS, slice(0, 3), 2).by_term) == {"margin"}
    assert set(margin(freeze_bias=False)(COSINES, KEYS, slice(0, 3), 2).by_term) == {"bias", "margin"}


def test_terms_are_those_of_plain_code() -> None:
    module = margin(freeze_bias=False, weight=0.5)
    found, bias = module(COSINES, KEYS, slice(0, 3), 2).by_term, bias_cosines(module)
    assert found["bias"].item() == pytest.approx(slow_granularity.bias(bias.tolist(), 0.2), rel=1e-5)
    expected = 0.5 * slow_granularity.margin(COSINES.tolist(), bias.diagonal().tolist(), 0.07)
    assert found["margin"].item() == pytest.approx(expected, rel=1e-3)


def test_a_frozen_extractor_has_no_gradient() -> None:
    for settings, step, learns in (({}, 0, True), ({}, 2, False), ({"freeze_bias": False}, 2, True)):
        module = margin(**settings)
        scores = COSINES.clone().requires_grad_()
        (sum(module(scores, KEYS, slice(0, 3), step).by_term.values()) + 0 * scores.sum()).backward()
        assert all((weight.grad is not None) == learns for weight in module.parameters())


def test_rows_of_the_same_video_are_no_negatives() -> None:
    keys = RowKeys(torch.tensor([1, 1, 3]), torch.tensor([1, 1, 3]), torch.tensor([11, 12, 32]))
    module = margin(warmup_steps=0)
    video, sentence = module.extractor(keys.video, keys.caption)
    bias = (normalize(video, dim=1) @ normalize(sentence, dim=1).T).diagonal().tolist()
    expected = slow_granularity.margin(COSINES.tolist(), bias, 0.07, lambda i, j: 2 in (i, j))
    assert module(COSINES, keys, slice(0, 3), 0).by_term["margin"].item() == pytest.approx(expected, rel=1e-3)


def test_the_health_is_the_correlation_of_angle_and_value() -> None:
    module = margin()
    angles = torch.acos(bias_cosines(module).diagonal()).detach().numpy()
    found = module(COSINES, KEYS, slice(0, 3), 0).metrics
    assert found["margin"].item() == pytest.approx(angles.mean(), abs=1e-5)
    assert found["margin_bin_correlation"].item() == pytest.approx(
        np.corrcoef(angles, [0.11, 0.52, 0.47])[0, 1], abs=1e-5
    )
    assert correlation(torch.ones(3), torch.arange(3.0)) == 0


def sequences(rows: int, length: int, seed: int, dim: int = 8) -> Sequences:
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randn(rows, length, dim, generator=generator, dtype=torch.float64)
    counts = torch.randint(1, length + 1, (rows,), generator=generator)
    return Sequences(tokens.requires_grad_(), torch.arange(length) < counts.unsqueeze(1))


def scorer(**settings: object) -> PairScorer:
    torch.manual_seed(0)
    return PairScorer(8, FusionConfig(**{"heads": 2, **settings})).double()


VIDEOS, CAPTIONS = sequences(4, 3, 1), sequences(5, 2, 2)


def test_a_pair_is_scored_by_itself() -> None:
    for settings in ({}, {"pooled": True}, {"score": "cosine"}):
        model = scorer(**settings)
        model(VIDEOS, CAPTIONS)  # the norm's averages are of a batch
        model.eval()
        scores = model(VIDEOS, CAPTIONS)
        for v in range(4):
            for c in range(5):
                video = Sequences(
                    VIDEOS.tokens[v : v + 1][:, VIDEOS.mask[v]], VIDEOS.mask[v : v + 1][:, VIDEOS.mask[v]]
                )
                told = CAPTIONS.mask[c]
                caption = Sequences(CAPTIONS.tokens[c : c + 1][:, told], told[told].unsqueeze(0))
                assert scores[v, c].item() == pytest.approx(model(video, caption).item(), abs=1e-12)
        assert scores.abs().max() <= 1


@pytest.mark.parametrize("block_pairs", [1, 3, 20])
def test_blocks_change_neither_scores_nor_gradients(block_pairs: int) -> None:
    found = []
    for size in (1000, block_pairs):
        model = scorer(block_pairs=size)
        scores = model(VIDEOS, CAPTIONS)
        weights = list(model.parameters())
        gradients = torch.autograd.grad((scores * scores.detach().cos()).sum(), [VIDEOS.tokens, *weights])
        found.append([scores, *gradients])
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(*found, strict=True))


def test_pairs_are_normalised_over_the_batch_without_those_that_lack_a_side() -> None:
    model = scorer()
    kept = model(VIDEOS, CAPTIONS)
    padded = Sequences(
        torch.cat([CAPTIONS.tokens, torch.ones(1, 2, 8)]), torch.cat([CAPTIONS.mask, torch.zeros(1, 2) > 0])
    )
    assert torch.allclose(scorer()(VIDEOS, padded)[:, :5], kept, atol=1e-12)
    assert kept.std() > 0.2


def test_memory_does_not_hold_all_fused_sequences() -> None:
    """What is saved for the backward pass grows with the pairs by their mean tokens alone."""

    def saved(rows: int) -> int:
        model, sizes = scorer(block_pairs=8), dict[int, int]()

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes() // tensor.itemsize
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            scores = model(sequences(rows, 60, 1), sequences(rows, 40, 2))
        assert scores.requires_grad  # what it keeps is alive until here, so that no two have the same place
        return sum(sizes.values())

    pairs = 16 * 16
    # One fused sequence alone has 100 tokens of 8 values; many such would be kept of every pair.
    assert saved(16) < pairs * 100 * 8


def test_l_bfc_falls_although_nearly_all_of_a_token_is_the_same_in_all_rows() -> None:
    """Without the norm over pairs all scores run into the bound of tanh, and L_bfc stays at chance."""
    rows, dim, differing = 12, 64, 0.02
    torch.manual_seed(0)
    model = PairScorer(dim, FusionConfig(heads=4))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    same, meaning = torch.randn(2, dim), torch.randn(96, dim)
    excess = []
    for _ in range(60):
        asked = meaning[torch.randperm(len(meaning))[:rows]]
        videos, captions = (one + differing**0.5 * asked.unsqueeze(1) for one in same)
        whole = torch.ones(rows, 1, dtype=torch.bool)
        scores = model(Sequences(videos, whole), Sequences(captions, whole))
        loss = fusion_contrastive_loss(scores, 1.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        excess.append(loss.item() - math.log(rows))
    assert sum(excess[-10:]) / 10 < -0.3
    assert scores.abs().mean() < 0.99


def test_the_bound_of_scores_bounds_the_loss() -> None:
    best = 2 * torch.eye(8, dtype=torch.float64) - 1
    assert fusion_contrastive_loss(best, 1.0).item() == pytest.approx(math.log(1 + 7 * math.exp(-2)))
    assert fusion_contrastive_loss(0 * best, 1.0).item() == pytest.approx(math.log(8))
