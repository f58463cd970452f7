"""A batch's loss in blocks and shares: margins, temperature, negatives, gradients."""

import math

import pytest
import torch
from torch.autograd import gradcheck
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.losses.cases import CASES, INCOMPLETE, MARGINS, ROWS, STEP, batch, keys, leaves
from tests.reference import losses as slow_losses
from tests.reference import objectives as slow_objectives
from vtr_core.config.losses import (
    GeometricMargin,
    InfoNceConfig,
    KeepAll,
    KeepSameVideo,
    LinearMargin,
    MaskSameVideo,
    TemperatureConfig,
    WeightSameVideo,
)
from vtr_core.data.batches import RowKeys
from vtr_core.losses.contrastive import bag_terms, binary_terms, build_objective, cross_entropies, mean_hinges
from vtr_core.losses.objective import WHOLE, Share, Temperature, adaptive_margin, margin_at, negative_weights

SIMILARITY = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 1.0], [2.0, 2.0, 2.0]])
A, B = SIMILARITY, torch.eye(3)


@pytest.mark.parametrize(("step", "expected"), [(0, 0.1), (9, 0.1), (10, 0.2), (29, 0.4)])
def test_geometric_margin_grows_every_so_many_steps(step, expected):
    margin = GeometricMargin(initial=0.1, factor=2.0, every=10)
    assert margin_at(margin, step, A, B) == pytest.approx(expected)


@pytest.mark.parametrize(("step", "expected"), [(0, 0.1), (50, 0.2), (100, 0.3), (1000, 0.3)])
def test_linear_margin_grows_and_stays(step, expected):
    margin = LinearMargin(initial=0.1, final=0.3, steps=100)
    assert margin_at(margin, step, A, B) == pytest.approx(expected)


def test_adaptive_margin_needs_no_similarity_matrix():
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(7, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    similarity = a @ b.T
    others = [similarity[i, torch.arange(7) != i].mean() for i in range(7)]
    torch.testing.assert_close(adaptive_margin(a, b, 0.3), 0.3 * (similarity.diagonal() - torch.stack(others)))
    torch.testing.assert_close(adaptive_margin(a[:1], b[:1], 1.0), similarity[:1, 0])
    assert not adaptive_margin(a.requires_grad_(), b, 0.3).requires_grad


EVERY_LOSS = pytest.mark.parametrize("name", list(CASES))


def _objective(name, **changes):
    return build_objective(CASES[name].model_copy(update=changes)).double()


def _gradients(value, embeddings, objective):
    wanted = [*leaves(embeddings), *(p for p in objective.parameters() if p.requires_grad)]
    found = torch.autograd.grad(value, wanted, allow_unused=True, retain_graph=True)
    return [
        torch.zeros_like(leaf) if gradient is None else gradient for leaf, gradient in zip(wanted, found, strict=True)
    ]


def _assert_close(found, expected, atol):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=atol)


@pytest.mark.parametrize("missing", [{}, INCOMPLETE], ids=["complete", "incomplete"])
@EVERY_LOSS
def test_values_and_gradients_equal_loops(name, missing):
    objective, embeddings = _objective(name), batch(**missing)
    losses = objective(embeddings, keys(), STEP)
    margin = torch.tensor(MARGINS.get(name, 0.0)).item()
    expected = slow_objectives.by_pair(CASES[name], embeddings, keys(), margin, dict(objective.named_parameters()))
    assert losses.by_pair.keys() == expected.keys()
    for pair, value in losses.by_pair.items():
        torch.testing.assert_close(value, expected[pair], rtol=0, atol=1e-10)
    total = sum(expected.values())
    torch.testing.assert_close(losses.total, total, rtol=0, atol=1e-10)
    found = _gradients(losses.total, embeddings, objective)
    _assert_close(found, _gradients(total, embeddings, objective), 1e-10)
    assert all(gradient.any() for gradient in found if len(gradient.shape) < 3 or name.startswith("mil_nce"))


@pytest.mark.parametrize("block_rows", [1, 3, 4, 100])
@EVERY_LOSS
def test_blocks_of_any_size_equal_the_whole(name, block_rows):
    embeddings = batch(**INCOMPLETE)
    whole, blocks = _objective(name), _objective(name, block_rows=block_rows)
    expected, found = (objective(embeddings, keys(), STEP) for objective in (whole, blocks))
    _assert_close(found.by_pair.values(), expected.by_pair.values(), 1e-10)
    _assert_close(_gradients(found.total, embeddings, blocks), _gradients(expected.total, embeddings, whole), 1e-10)


@pytest.mark.parametrize("block_rows", [None, 2])
@pytest.mark.parametrize("world", [1, 2, 3, 7])
@EVERY_LOSS
def test_shares_add_up_to_the_whole(name, world, block_rows):
    objective, embeddings = _objective(name, block_rows=block_rows), batch(**INCOMPLETE)
    whole = objective(embeddings, keys(), STEP)
    shares = [objective(embeddings, keys(), STEP, Share(rank, world)) for rank in range(world)]
    torch.testing.assert_close(sum(share.total for share in shares), whole.total, rtol=0, atol=1e-12)
    for pair, value in whole.by_pair.items():
        torch.testing.assert_close(sum(share.by_pair[pair] for share in shares), value, rtol=0, atol=1e-12)
    gradients = [_gradients(share.total, embeddings, objective) for share in shares]
    _assert_close(
        [sum(of_leaf) for of_leaf in zip(*gradients, strict=True)],
        _gradients(whole.total, embeddings, objective),
        1e-12,
    )
    for share in shares:
        assert share.metrics == whole.metrics


class LargestTensor(TorchDispatchMode):
    """Elements of the largest storage that any operation returned."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                held = leaf.untyped_storage().nbytes() // leaf.element_size()
                self.elements = max(self.elements, held, leaf.numel())
        return result


def _largest(name, block_rows, share=WHOLE):
    rows = 96
    objective, embeddings = _objective(name, block_rows=block_rows), batch(rows=rows, audio=(5,))
    with LargestTensor() as largest:
        objective(embeddings, keys(rows), STEP, share).total.backward()
    return largest.elements / rows**2


@EVERY_LOSS
def test_blocks_never_hold_a_matrix_of_the_batch(name):
    # Two candidates make a row three times as long in MIL-NCE; the embeddings themselves are 96 · 3 · 4 elements.
    assert _largest(name, block_rows=8) <= 3 * 8 / 96 < 1
    assert _largest(name, block_rows=None) > 0.9  # the measurement sees the matrix where there is one


@EVERY_LOSS
def test_missing_values_reach_neither_loss_nor_gradient(name):
    objective, clean, dirty = _objective(name), batch(**INCOMPLETE), batch(**INCOMPLETE)
    with torch.no_grad():
        for modality, rows in INCOMPLETE.items():
            dirty.vectors[modality][list(rows)] = torch.nan
        dirty.candidates[list(INCOMPLETE["text"])] = torch.nan
    expected, found = (objective(embeddings, keys(), STEP) for embeddings in (clean, dirty))
    assert found.total.item() == expected.total.item()
    gradients = _gradients(found.total, dirty, objective)
    _assert_close(gradients, _gradients(expected.total, clean, objective), 0)
    for modality, gradient in zip(dirty.vectors, gradients, strict=False):
        assert (gradient[list(INCOMPLETE[modality])] == 0).all()


@pytest.mark.parametrize("missing", [range(ROWS), range(1, ROWS)], ids=["none", "one"])
@EVERY_LOSS
def test_fewer_than_two_rows_are_exactly_zero_and_in_the_graph(name, missing):
    objective, embeddings = _objective(name), batch("text", "video", video=tuple(missing))
    total = objective(embeddings, keys(), STEP).total
    assert total.item() == 0.0
    total.backward()
    wanted = [embeddings.vectors["text"], embeddings.vectors["video"], *objective.parameters()]
    assert all(leaf.grad is not None and not leaf.grad.any() for leaf in wanted)


@EVERY_LOSS
def test_losses_are_float32_under_autocast_and_cast_their_parameters(name):
    objective, embeddings = build_objective(CASES[name]), batch(dim=64, **INCOMPLETE)
    assert objective(embeddings, keys(), STEP).total.dtype == torch.float64
    single, half = (_cast(embeddings, dtype) for dtype in (torch.float32, torch.bfloat16))
    plain = objective(single, keys(), STEP).total
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(objective(single, keys(), STEP).total, plain)
        chunked = build_objective(CASES[name].model_copy(update={"block_rows": 3}))(single, keys(), STEP).total
        assert objective(half, keys(), STEP).total.dtype == torch.float32
    chunked.backward()
    torch.testing.assert_close(chunked, plain)


def _cast(embeddings, dtype):
    vectors = {name: vector.to(dtype) for name, vector in embeddings.vectors.items()}
    return type(embeddings)(vectors, embeddings.present, embeddings.candidates.to(dtype))


def test_what_changes_in_training_is_reported():
    found = {name: _objective(name)(batch(), keys(), STEP).metrics for name in CASES}
    assert {name: set(metrics) for name, metrics in found.items() if metrics} == {
        "mms_geometric_mask": {"margin"},
        "mms_linear_weight": {"margin"},
        "info_nce_learnable_weight": {"temperature"},
        "sigmoid_mask": {"scale", "bias"},
        "sigmoid_weight": {"scale", "bias"},
    }
    assert found["mms_linear_weight"]["margin"].item() == pytest.approx(0.21)
    assert found["info_nce_learnable_weight"]["temperature"].item() == pytest.approx(0.2)
    assert found["sigmoid_weight"]["scale"].item() == pytest.approx(5.0)


LEARNED = TemperatureConfig(temperature=0.05, learnable_temperature=True, max_scale=25.0)


def test_the_scale_stops_at_its_maximum_and_comes_back():
    temperature, like = Temperature(LEARNED), torch.zeros(1)
    with torch.no_grad():
        temperature.log_scale += 3
    scale = temperature(like)
    assert scale.item() == pytest.approx(25)
    assert temperature.log_scale.item() == pytest.approx(math.log(25))
    scale.backward()
    assert temperature.log_scale.grad.item() == pytest.approx(25)
    with torch.no_grad():
        temperature.log_scale -= 0.1 * temperature.log_scale.grad / 25
    assert temperature(like).item() == pytest.approx(25 * math.exp(-0.1))


def test_a_temperature_that_starts_beyond_the_maximum_is_refused():
    with pytest.raises(ValueError, match=r"1/max_scale = 0\.01"):
        InfoNceConfig(temperature=0.001, learnable_temperature=True)
    assert InfoNceConfig(temperature=0.001).temperature == 0.001


CLIP, CAPTION = torch.tensor([1, 1, 2, 3, 4, 5, 6]), torch.tensor([7, 8, 9, 9, 10, 11, 12])
VIDEO = torch.tensor([0, 0, 0, 5, 5, 6, 6])
KEYS = RowKeys(clip=CLIP, video=VIDEO, caption=CAPTION)


def _weights(keys, same_video, block=None):
    return negative_weights(keys, block or slice(0, len(keys.clip)), same_video, torch.float64)


def _grid(videos, clips):
    rows = torch.arange(videos * clips)
    return RowKeys(clip=rows, video=rows // clips, caption=rows)


@pytest.mark.parametrize(
    "same_video",
    [KeepAll(), KeepSameVideo(), MaskSameVideo(), WeightSameVideo(hard_rate=0.2), WeightSameVideo(hard_rate=0.9)],
)
@pytest.mark.parametrize("keys", [KEYS, _grid(3, 2), _grid(4, 1), _grid(1, 3)])
def test_weights_equal_loops(keys, same_video):
    rate = same_video.hard_rate if isinstance(same_video, WeightSameVideo) else None
    expected = slow_losses.negative_weights(keys.clip, keys.caption, keys.video, same_video.kind, rate)
    expected = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(_weights(keys, same_video), expected)
    block = slice(1, 3)
    torch.testing.assert_close(_weights(keys, same_video, block), expected[block])


@pytest.mark.parametrize("hard_rate", [0.1, 0.5, 0.8])
def test_weights_of_whole_videos_are_the_published_ones(hard_rate):
    videos, clips = 5, 3
    weights = _weights(_grid(videos, clips), WeightSameVideo(hard_rate=hard_rate))
    for i in range(videos * clips):
        for j in range(videos * clips):
            same = i // clips == j // clips
            expected = hard_rate * videos if same else (1 - hard_rate) * videos / (videos - 1)
            assert weights[i, j].item() == pytest.approx(expected)


FIRST, BLOCK_ROWS, ITEMS, BAG = 2, 3, 6, 2


def _draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _test_blocks_weights():
    weights = 2 * torch.rand(BLOCK_ROWS, ITEMS, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    weights[0, 0] = weights[1, 5] = 0
    return weights


@pytest.mark.parametrize(
    "terms",
    [
        lambda s: cross_entropies(s, _test_blocks_weights(), FIRST, _draw(BLOCK_ROWS, seed=3)),
        lambda s: mean_hinges(s, _test_blocks_weights(), FIRST, 0.2),
        lambda s: binary_terms(s, _test_blocks_weights(), FIRST),
    ],
)
def test_gradients_equal_finite_differences(terms):
    assert gradcheck(terms, (_draw(BLOCK_ROWS, ITEMS).requires_grad_(),))


def test_gradients_of_bags_equal_finite_differences():
    def terms(rows, columns):
        weights = _test_blocks_weights()
        return bag_terms(rows, columns, weights, weights.flip(1), FIRST)

    assert gradcheck(terms, tuple(_draw(BLOCK_ROWS, ITEMS, BAG, seed=seed).requires_grad_() for seed in (0, 1)))
