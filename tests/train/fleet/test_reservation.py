"""What is asked of the cluster."""

import pytest

from vtr_core.config.training import ScalingConfig
from vtr_core.train.fleet.placement import increments, reading_bundles, worker_bundle


def test_a_worker_takes_its_cpus_and_one_gpu() -> None:
    scaling = ScalingConfig(cpus_per_worker=3)
    assert worker_bundle(scaling, gpu=False) == {"CPU": 3.0}
    assert worker_bundle(scaling, gpu=True) == {"CPU": 3.0, "GPU": 1.0}


@pytest.mark.parametrize(("cpus", "parts"), [(1.0, [1.0]), (0.5, [0.5]), (2.5, [1.0, 1.0, 0.5]), (3.0, [1.0] * 3)])
def test_reading_may_be_spread(cpus: float, parts: list[float]) -> None:
    assert reading_bundles(cpus) == [{"CPU": part} for part in parts]


def test_counts_are_reached_step_by_step() -> None:
    assert increments((2,)) == [2]
    assert increments((1, 2, 3, 4, 6)) == [1, 1, 1, 1, 2]
