"""W workers with a share of the videos and captions each find exactly the figures of one, in every space."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.systems.dual.test_evaluation import CAPTIONS, VIDEOS, _rows, scoring
from tests.train.workers import run_together
from vtr_core.embedding.rankings import QuerySample
from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.systems.dual import hybrid_scores as tiles
from vtr_core.systems.dual.dual_embeddings import DualRows
from vtr_core.systems.dual.evaluation import dual_metric_values, evaluate_dual

STARTS = {1: [0, VIDEOS], 2: [0, 2, VIDEOS], 3: [0, 3, 3, VIDEOS]}
CASES = [("matrix", "jaccard", None), ("query", "cosine", None), ("train", "jaccard", None), ("query", "jaccard", 3)]


def _part(first: int, last: int) -> DualRows:
    """Some of the videos with their captions, of which some are missing and some exactly alike."""
    rows = _rows(no_text=(2, 9), no_video=(1,))
    kept = (rows.caption_video >= first) & (rows.caption_video < last)
    rows.text["latent"][4] = rows.text["latent"][5]
    return replace(
        rows,
        text={space: vectors[kept] for space, vectors in rows.text.items()},
        video={space: vectors[first:last] for space, vectors in rows.video.items()},
        caption_video=rows.caption_video[kept] - first,
        text_present=rows.text_present[kept],
        video_present=rows.video_present[first:last],
    )


def steps(rank: int, world: int) -> list[list[Tensor]]:
    """Every case in tiles of 4 captions and 3 videos, of scores that are kept and of scores that are not."""
    settings = tiles.CAPTION_CHUNK, tiles.VIDEO_CHUNK, tiles.HELD
    tiles.CAPTION_CHUNK, tiles.VIDEO_CHUNK = 4, 3
    found = []
    for tiles.HELD in (0, 2**28):
        for normalise, similarity, count in CASES:
            sample, own = None if count is None else QuerySample(count), _part(*STARTS[world][rank : rank + 2])
            figures = evaluate_dual(own, scoring(similarity, 0.7, normalise), sample, rank)  # type: ignore[arg-type]
            values = list(dual_metric_values(figures, "val").values())
            counts = [direction.num_unanswerable for one in figures for direction in one.directions]
            found.append([torch.tensor([*values, *counts], dtype=torch.float64)])
    tiles.CAPTION_CHUNK, tiles.VIDEO_CHUNK, tiles.HELD = settings
    return found


@pytest.mark.parametrize("world", [2, pytest.param(3, marks=pytest.mark.long)])
def test_workers_together_find_the_figures_of_one(world: int, tmp_path: Path) -> None:
    alone = steps(0, 1)
    assert len({tuple(case.tolist()) for (case,) in alone}) == len(CASES)
    for worker in run_together(steps, world, tmp_path):
        for (found,), (expected,) in zip(worker, alone, strict=True):
            torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_sampled_queries_have_the_figures_of_their_rows_of_the_whole_matrix() -> None:
    rows, sample = _rows(), QuerySample(3, seed=5)
    scores = torch.nn.functional.cosine_similarity(
        torch.from_numpy(rows.text["latent"])[:, None],
        torch.from_numpy(rows.video["latent"])[None],
        dim=2,
    ).numpy()
    relevant = rows.caption_video[:, None] == np.arange(VIDEOS)
    figures = {one.space: one.directions for one in evaluate_dual(rows, scoring(), sample)}
    asked, seen = sample.drawn(CAPTIONS), sample.drawn(VIDEOS)
    t2v, v2t = (direction.metrics for direction in figures["latent"])
    assert t2v == retrieval_metrics(scores[asked], relevant[asked])
    assert v2t == retrieval_metrics(scores.T[seen], relevant.T[seen])
    assert evaluate_dual(rows, scoring(), QuerySample(100)) == evaluate_dual(rows, scoring())
