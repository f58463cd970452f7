"""What a contrastive loss compared, for whoever watches: rows that are there, similarities on its scale, chance."""

from math import log

import pytest
import torch

from vtr_core.config.losses import (
    InfoNceConfig,
    MaskedMarginSoftmaxConfig,
    MaxMarginRankingConfig,
    MilNceConfig,
    ObjectiveConfig,
    SigmoidConfig,
)
from vtr_core.data.batches import RowKeys
from vtr_core.losses.contrastive import build_objective
from vtr_core.nn.embeddings import Embeddings
from vtr_core.systems.joint_space import compared_embeddings

ROWS = 8
KEYS = RowKeys(*(torch.arange(ROWS) for _ in range(3)))


def embeddings(silent: int = 2) -> Embeddings:
    generator = torch.Generator().manual_seed(0)
    vectors = {name: torch.randn(ROWS, 4, generator=generator) for name in ("text", "video", "audio")}
    everywhere = torch.ones(ROWS, dtype=torch.bool)
    return Embeddings(vectors, {"text": everywhere, "video": everywhere, "audio": torch.arange(ROWS) >= silent})


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (MaskedMarginSoftmaxConfig(), 2 * (log(8) + 2 * log(6))),
        (InfoNceConfig(), 2 * (log(8) + 2 * log(6))),
        (MilNceConfig(), log(16) + 2 * log(12)),
        (MaxMarginRankingConfig(margin=0.1), 3 * 0.2),
        (SigmoidConfig(), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_chance_is_the_loss_of_vectors_that_are_alike(loss: ObjectiveConfig, expected: float | None) -> None:
    chance = compared_embeddings(build_objective(loss), embeddings(), KEYS, 0).chance()
    assert chance == (None if expected is None else pytest.approx(expected, abs=0.01))


def test_rows_that_lack_a_modality_are_not_compared() -> None:
    found = compared_embeddings(build_objective(MaskedMarginSoftmaxConfig()), embeddings(), KEYS, 0)
    assert {name: len(vectors) for name, vectors in found.vectors.items()} == {"text": 8, "video": 8, "audio": 6}
    given = embeddings().vectors
    torch.testing.assert_close(found.scores["text_audio"](), given["text"][2:] @ given["audio"][2:].T)


def test_similarities_are_on_the_losss_scale() -> None:
    found = compared_embeddings(build_objective(InfoNceConfig(temperature=0.1)), embeddings(), KEYS, 0)
    text, video = (torch.nn.functional.normalize(embeddings().vectors[name], dim=1) for name in ("text", "video"))
    torch.testing.assert_close(found.scores["text_video"](), 10 * text @ video.T)
    assert not found.is_bounded
    ranking = compared_embeddings(build_objective(MaxMarginRankingConfig(margin=0.1)), embeddings(), KEYS, 0)
    torch.testing.assert_close(ranking.scores["text_video"](), 10 * text @ video.T)
    assert ranking.is_bounded
