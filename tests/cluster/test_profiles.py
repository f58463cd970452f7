"""Profiles fit every preset, and change where a run runs, not what it computes."""

from typing import cast

import pytest

from cluster.profiles import PROFILE_NAMES, profile
from vtr_core.config.override import override
from vtr_core.errors import ConfigError
from vtr_core.run.presets import PRESETS, preset

_SMALL_BATCHES = ("siamese-att", "caption-", "clip4clip-tiny", "muse-clip-tiny")
"""What presets begin with whose batches 64 workers cannot divide."""


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="no profile '8xh200'; did you mean 8xh100"):
        profile("8xh200")


@pytest.mark.parametrize("name", PROFILE_NAMES)
def test_every_preset_can_run_so_or_names_batches_that_can(name: str) -> None:
    """Nothing but `scaling` differs; a published batch that so many workers cannot divide is refused with advice."""
    changes = profile(name).changes
    workers = cast("int", changes["scaling.workers"])
    refused = [chosen for chosen in PRESETS if preset(chosen).batch.rows % workers]
    assert name == "8x8xh100" or not refused
    assert all(chosen.startswith(_SMALL_BATCHES) for chosen in refused)
    for chosen in refused:
        with pytest.raises(ConfigError, match="choose a batch size that is a multiple of the workers"):
            override(preset(chosen), changes)
    for chosen in set(PRESETS) - set(refused):
        before = preset(chosen)
        after = override(before, changes)
        assert after.worker_counts == (after.scaling.workers,), chosen
        assert after.model_copy(update={"scaling": before.scaling}) == before, chosen


@pytest.mark.parametrize(("name", "cpus", "gpus"), [("1xh100", 16, 1), ("8xh100", 192, 8)])
def test_one_machine_holds_workers_and_reading(name: str, cpus: int, gpus: int) -> None:
    scaling = override(preset("capsule-howto"), profile(name).changes).scaling
    assert scaling.workers == gpus
    assert scaling.workers * scaling.cpus_per_worker + scaling.reading_cpus <= cpus
