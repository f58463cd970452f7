"""When a group may end to become larger."""

from vtr_core.train.fleet.worker_group import Growth


def test_growing_in_vain_is_tried_less_and_less_often() -> None:
    growth = Growth(60.0)
    assert growth.interval(2, resized=False) == 60
    assert growth.interval(2, resized=True) == 120
    assert growth.interval(2, resized=True) == 240
    assert growth.interval(4, resized=True) == 60


def test_a_loss_is_no_growth_in_vain() -> None:
    growth = Growth(60.0)
    assert [growth.interval(4, resized=False), growth.interval(2, resized=False)] == [60, 60]
