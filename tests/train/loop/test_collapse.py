"""A run whose vectors collapse, or whose loss stays at chance, says so once."""

import torch

from vtr_core.systems.implementation import Compared
from vtr_core.train.loop.alarms import CollapseWatch

APART = torch.randn(32, 8, generator=torch.Generator().manual_seed(0))
ALIKE = APART[:1].expand(32, 8)


def compared(vectors: torch.Tensor, chance: float | None = None) -> Compared:
    return Compared({"video": vectors}, {"video_video": lambda: vectors @ vectors.T}, chance=lambda: chance)


def test_what_is_looked_at_is_logged() -> None:
    values = CollapseWatch(0).look(10, 1.0, compared(APART, 4.0))
    assert set(values) == {
        "train/row_share_video",
        "train/effective_rank_video",
        "train/similarity_deviation_video_video",
        "train/chance",
    }
    assert values["train/row_share_video"] > 0.9


def test_a_collapse_is_told_once_with_its_cause() -> None:
    watch = CollapseWatch(0)
    watch.look(10, 1.0, compared(APART))
    assert watch.collapse is None
    watch.look(20, 1.0, compared(ALIKE))
    assert watch.collapse is not None
    assert "video" in watch.collapse.what
    assert "learning_rate" in watch.collapse.cause
    watch.look(30, 1.0, compared(ALIKE))
    assert watch.collapse is None


def test_vectors_that_were_never_apart_point_to_the_initial_weights() -> None:
    watch = CollapseWatch(0)
    watch.look(10, 1.0, compared(ALIKE))
    assert watch.collapse is not None
    assert "vtr data show" in watch.collapse.cause


def test_few_rows_say_nothing() -> None:
    watch = CollapseWatch(0)
    assert watch.look(10, 1.0, Compared({"video": ALIKE[:3]})) == {}
    assert watch.collapse is None


def test_chance_counts_after_the_warm_up_and_until_the_loss_is_below_it() -> None:
    watch = CollapseWatch(warm_steps=15)
    watch.look(10, 4.0, compared(APART, 4.0))
    assert watch.at_chance is None
    watch.look(20, 3.99, compared(APART, 4.0))
    assert watch.at_chance == 4.0
    watch.look(30, 3.0, compared(APART, 4.0))
    assert watch.at_chance is None
    assert "train/chance" not in watch.look(40, 4.0, compared(APART, 4.0))
