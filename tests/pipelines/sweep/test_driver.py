"""What a sweep needs of the cluster before its first trial."""

from pipelines.sweep.tune_trials import trial_bundle
from vtr_core.config.run import ScalingConfig
from vtr_core.ray_private import HEAD


def test_what_starts_a_trials_workers_stays_on_the_head_and_takes_no_cpu() -> None:
    found = trial_bundle(ScalingConfig(workers=2), gpu=True)
    assert found.keys() == {HEAD}
    assert sum(found.values()) <= 0.001, "a thousand trials at once, as the head has 1 of it"


def test_a_trial_without_workers_takes_those_of_one_wherever_there_is_room() -> None:
    scaling = ScalingConfig(workers=0, cpus_per_worker=2)
    assert trial_bundle(scaling, gpu=False) == {"CPU": 2.0}
    assert trial_bundle(scaling, gpu=True) == {"CPU": 2.0, "GPU": 1.0}
