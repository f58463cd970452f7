"""The baselines' figures against loops, and that ridge and zero-shot find what they should."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from benchmarks.films import baselines
from benchmarks.films.data import Captioned


def _judged(count: int = 12, seed: int = 0) -> Captioned:
    """Clips whose rows are 3 + 3 values; two clips share each caption."""
    rows = np.random.default_rng(seed).normal(size=(count, 6)).astype(np.float32)
    return Captioned(rows, tuple(f"caption {i // 2}" for i in range(count)), np.arange(count))


def test_figures_are_those_of_loops_under_both_protocols() -> None:
    judged = _judged()
    scores = np.random.default_rng(1).normal(size=(12, 12)).astype(np.float32)
    own, same = [], []
    for query in range(12):
        order = sorted(range(12), key=lambda item: -scores[query, item])
        own.append(order.index(query) + 1)
        same.append(min(order.index(item) + 1 for item in range(12) if item // 2 == query // 2))
    found = baselines.figures(scores, judged)
    for k in (1, 5, 10):
        assert found[f"r{k}"] == pytest.approx(100 * np.mean(np.array(own) <= k))
    assert found["medr"] == np.median(own)
    assert found["same_r10"] == pytest.approx(100 * np.mean(np.array(same) <= 10))


@dataclass
class Named:
    """A text's vector is drawn by its number; the head takes the mean's eight values as they are."""

    feature_dim: int = 8

    def encode_text(self, texts: tuple[str, ...]) -> np.ndarray:
        drawn = [np.random.default_rng(int(text.split()[1])).normal(size=8) for text in texts]
        return np.stack([one / np.linalg.norm(one) for one in drawn]).astype(np.float32)

    def head(self) -> torch.nn.Module:
        return torch.nn.Identity()


def test_zero_shot_reads_the_mean_alone_and_ridge_learns_what_rows_mean() -> None:
    """Rows are the texts' vectors, turned: zero-shot needs them as they are, ridge finds the turn."""
    encoder = Named()
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(8, 8)))[0].astype(np.float32)

    def turned(first: int, by: np.ndarray) -> Captioned:
        captions = tuple(f"caption {i}" for i in range(first, first + 60))
        mean = encoder.encode_text(captions) @ by
        return Captioned(np.concatenate([mean, np.zeros_like(mean)], 1), captions, np.arange(60))

    train, val, test = (turned(first, turn) for first in (0, 200, 300))
    assert baselines.zero_shot(encoder, turned(300, np.eye(8)))["r1"] == 100
    assert baselines.zero_shot(encoder, test)["r1"] < 20
    learned = baselines.ridge(encoder, train, val, {"test": test}, with_zero_shot=False)["test"]
    assert learned["r5"] > 80
    straight = [turned(first, np.eye(8)) for first in (0, 200, 300)]
    both = baselines.ridge(encoder, *straight[:2], {"test": straight[2]}, with_zero_shot=True)["test"]
    assert both["r1"] > 90
