"""What a sweep needs of the cluster before its first trial."""

import pytest

from pipelines.sweep.tune_trials import require_population, trial_bundle
from vtr_core.config.run import ScalingConfig
from vtr_core.errors import ClusterError
from vtr_core.ray_private import HEAD


def test_a_population_trains_at_the_same_time() -> None:
    require_population("pbt", 2)
    require_population("asha", 1)
    with pytest.raises(ClusterError, match="only one fits here; lower"):
        require_population("pbt", 1)


def test_what_starts_a_trials_workers_stays_on_the_head_and_takes_no_cpu() -> None:
    found = trial_bundle(ScalingConfig(workers=2), gpu=True)
    assert found.keys() == {HEAD}
    assert sum(found.values()) <= 0.001, "a thousand trials at once, as the head has 1 of it"


def test_a_trial_without_workers_takes_those_of_one_wherever_there_is_room() -> None:
    scaling = ScalingConfig(workers=0, cpus_per_worker=2)
    assert trial_bundle(scaling, gpu=False) == {"CPU": 2.0}
    assert trial_bundle(scaling, gpu=True) == {"CPU": 2.0, "GPU": 1.0}
