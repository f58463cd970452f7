"""ASHA cuts by epochs and remembers what trials before a resumption reported; population based training explores."""

from types import SimpleNamespace
from typing import Any

import pytest
from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from tune_spaces.trial_search import build_scheduler, tell_earlier


def report(scheduler: TrialScheduler, trial: Any, epoch: float, value: float) -> str:
    return scheduler.on_trial_result(None, trial, {"epoch": epoch, "objective": value})  # type: ignore[arg-type]


def asha() -> TrialScheduler:
    return build_scheduler("asha", validate_every=1, epochs=10)


def test_asha_stops_losers_and_lets_the_last_epoch_end_by_itself() -> None:
    scheduler = asha()
    trials = [SimpleNamespace(trial_id=str(i)) for i in range(4)]
    for trial in trials:
        scheduler.on_trial_add(None, trial)  # type: ignore[arg-type]
    assert report(scheduler, trials[0], 1.0, 50.0) == TrialScheduler.CONTINUE
    assert report(scheduler, trials[1], 1.0, 40.0) == TrialScheduler.STOP
    assert report(scheduler, trials[2], 1.0, 60.0) == TrialScheduler.CONTINUE
    assert report(scheduler, trials[2], 10.0, 61.0) == TrialScheduler.CONTINUE


@pytest.mark.parametrize(("value", "expected"), [(45.0, TrialScheduler.STOP), (55.0, TrialScheduler.CONTINUE)])
def test_asha_goes_on_with_what_was_reported_before(value: float, expected: str) -> None:
    scheduler = asha()
    tell_earlier(scheduler, [("earlier-000", [(1.0, 50.0), (2.0, 52.0)])])
    trial: Any = SimpleNamespace(trial_id="new")
    scheduler.on_trial_add(None, trial)  # type: ignore[arg-type]
    assert report(scheduler, trial, 1.0, value) == expected


def test_none_trains_all() -> None:
    assert type(build_scheduler("none", 1, 10)) is FIFOScheduler
