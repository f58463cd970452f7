import math

import pytest
import torch

from vtr_core.config.losses import FusionConfig
from vtr_core.losses.gmc import PairScorer, Sequences, fusion_contrastive_loss


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
