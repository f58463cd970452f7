"""W workers with a share of the rows each find the figures of one worker, and of the metrics in memory, exactly."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.train.workers import run_together
from vtr_core.embedding import collectives as ranking
from vtr_core.embedding.collectives import contiguous_share, evaluate_shares
from vtr_core.embedding.embedded_rows import EmbeddedRows
from vtr_core.embedding.rankings import Direction, Ranking, metric_values, rankings
from vtr_core.embedding.rankings import figures as figures_in_memory
from vtr_core.metrics import ranks as standing
from vtr_core.similarity import SimilarityKind

ROWS = 61
SIMILARITIES: tuple[SimilarityKind, ...] = ("dot", "cosine", "neg_euclidean")
SHARES = {1: [0, 61], 2: [0, 20, 61], 3: [0, 33, 33, 61]}
"""Where each worker's rows begin; the second of three has none."""


def rows_of(part: slice = slice(None), num_names: int = 3) -> EmbeddedRows:
    """Clips with one to four captions, equal vectors among them, and captions, videos and sounds that are missing."""
    random = np.random.default_rng(3)
    clip = np.sort(random.integers(0, 25, ROWS))
    base = random.integers(-2, 3, (25, 6)).astype(np.float32)  # small integers: many scores are exactly equal
    present = {
        "text": random.random(ROWS) > 0.1,
        "video": (random.random(25) > 0.1)[clip],
        "audio": (random.random(25) > 0.4)[clip],
    }
    vectors = {
        "text": base[clip] + random.integers(-1, 2, (ROWS, 6)).astype(np.float32),
        "video": base[clip],
        "audio": random.normal(size=(25, 6)).astype(np.float32)[clip],
    }
    names = list(vectors)[:num_names]
    held = {name: np.where(present[name][:, None], vectors[name], 0)[part] for name in names}
    return EmbeddedRows(held, {name: present[name][part] for name in names}, clip[part], clip[part] // 2)


def figures(directions: list[Direction]) -> Tensor:
    """All figures of all directions, those of chance too."""
    told = list(metric_values(directions, "val").values())
    for one in directions:
        for metrics in (one.metrics, one.chance):
            told += [float(getattr(metrics, field.name)) for field in fields(metrics) if field.name.startswith("num_")]
        told += [one.num_unanswerable, *one.chance.recall.values()]
    return torch.tensor(told, dtype=torch.float64)


def steps(rank: int, world: int) -> list[list[Tensor]]:
    """Every similarity in blocks of 13 queries and 9 items, of which some are kept; the last with text and video."""
    chunks = ranking.QUERY_CHUNK, ranking.ITEM_CHUNK, standing.KEPT_SCORES
    ranking.QUERY_CHUNK, ranking.ITEM_CHUNK, standing.KEPT_SCORES = 13, 9, 200
    part, device = slice(*SHARES[world][rank : rank + 2]), torch.device("cpu")
    found = [[figures(evaluate_shares(rows_of(part), kind, rank, device))] for kind in SIMILARITIES]
    found.append([figures(evaluate_shares(rows_of(part, 2), "dot", rank, device))])
    ranking.QUERY_CHUNK, ranking.ITEM_CHUNK, standing.KEPT_SCORES = chunks
    return found


def in_memory() -> list[list[Tensor]]:
    cases = [*((rows_of(), kind) for kind in SIMILARITIES), (rows_of(num_names=2), "dot")]
    return [[figures([_ranked(one, kind) for one in rankings(rows)])] for rows, kind in cases]


def _ranked(one: Ranking, kind: SimilarityKind) -> Direction:
    return figures_in_memory(one, one.scores(kind), query_chunk=13, item_chunk=9)


def test_one_worker_finds_the_figures_in_memory() -> None:
    expected = in_memory()
    for (found,), (wanted,) in zip(steps(0, 1), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=0)
    assert len({tuple(wanted.tolist()) for (wanted,) in expected}) == len(expected)


@pytest.mark.parametrize("world", [2, 3])
def test_workers_together_find_the_figures_of_one(world: int, tmp_path: Path) -> None:
    expected = in_memory()
    for worker in run_together(steps, world, tmp_path):
        for (found,), (wanted,) in zip(worker, expected, strict=True):
            torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def not_finite(rank: int, world: int) -> list[list[Tensor]]:
    """The message of every worker where one of them has the query whose score is not finite."""
    rows = rows_of(slice(*SHARES[world][rank : rank + 2]))
    if rank == world - 1:
        rows.vectors["text"][-1], rows.present["text"][-1] = np.inf, True
    try:
        evaluate_shares(rows, "dot", rank, torch.device("cpu"))
    except standing.MetricError as error:
        return [[torch.tensor([int("query 60 has a score that is not finite" in str(error))])]]
    return [[torch.tensor([0])]]


def test_every_worker_raises_what_one_of_them_found(tmp_path: Path) -> None:
    assert all(worker[0][0].item() == 1 for worker in run_together(not_finite, 2, tmp_path))


def test_shares_are_contiguous_and_the_whole() -> None:
    for world in (1, 2, 3, 8):
        shares = [contiguous_share(range(7), rank, world) for rank in range(world)]
        assert [place for share in shares for place in share] == list(range(7))
        assert max(map(len, shares)) - min(map(len, shares)) <= 1
