import math

import pytest
import torch

from vtr_core.config.losses.granularity import FusionConfig
from vtr_core.losses.fusion import PairScorer, Sequences


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


def test_memory_does_not_hold_all_fused_sequences() -> None:
    """What is saved for the backward pass grows with the pairs by their scores alone."""

    def saved(rows: int) -> int:
        model, sizes = scorer(block_pairs=8), dict[int, int]()

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes() // tensor.itemsize
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            scores = model(sequences(rows, 3, 1), sequences(rows, 2, 2))
        assert scores.requires_grad  # what it keeps is alive until here, so that no two have the same place
        return sum(sizes.values())

    pairs = 16 * 16
    # One fused sequence alone has 5 tokens of 8 values; many such would be kept of every pair.
    assert saved(16) < pairs * 5 * 8


def test_scores_move_towards_what_is_asked() -> None:
    model = scorer()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    target = torch.eye(4, 5, dtype=torch.float64)
    losses = []
    for _ in range(30):
        loss = (model(VIDEOS, CAPTIONS) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    assert not math.isnan(losses[-1])
