"""Ray Tune's schedulers for sweeps: all look at the best validation so far over epochs, which a resumed trial keeps."""

from collections.abc import Iterable
from random import Random
from types import SimpleNamespace
from typing import Any, TypeAlias, assert_never

from ray.tune.schedulers import AsyncHyperBandScheduler, FIFOScheduler, PopulationBasedTraining, TrialScheduler

from tune_spaces.points import SchedulerKind, perturbed
from tune_spaces.space import Space

TIME, OBJECTIVE = "epoch", "objective"
REDUCTION = 3
"""ASHA lets about one in so many trials go on at epochs 1, 3, 9, … times the validation interval."""
Reports: TypeAlias = Iterable[tuple[float, float]]
"""(epoch, objective) of a trial, in order."""


def build_scheduler(kind: SchedulerKind, space: Space, validate_every: int, epochs: int, seed: int) -> TrialScheduler:
    """The scheduler `kind` for trials of `epochs` epochs with a validation every `validate_every`."""
    match kind:
        case "asha":
            # The last epoch is not max_t: a trial ends by itself, and only then counts as finished.
            grace = min(validate_every, epochs)
            return AsyncHyperBandScheduler(
                TIME, OBJECTIVE, "max", max_t=epochs + 1, grace_period=grace, reduction_factor=REDUCTION
            )
        case "pbt":
            random = Random(seed)

            def explore(config: dict[str, Any]) -> dict[str, Any]:
                trial = config["trial"]
                return {**config, "trial": {**trial, "point": perturbed(space, trial["point"], random)}}

            return PopulationBasedTraining(
                TIME,
                OBJECTIVE,
                "max",
                perturbation_interval=validate_every,
                custom_explore_fn=explore,
                require_attrs=False,
            )
        case "none":
            return FIFOScheduler()
        case _:
            assert_never(kind)


def tell_earlier(scheduler: TrialScheduler, earlier: Iterable[tuple[str, Reports]]) -> None:
    """Let ASHA know what trials that ended before the sweep was resumed had reported, so that its cuts stay."""
    if not isinstance(scheduler, AsyncHyperBandScheduler):
        return
    for name, reports in earlier:
        trial: Any = SimpleNamespace(trial_id=name)
        scheduler.on_trial_add(None, trial)  # type: ignore[arg-type]
        for epoch, value in reports:
            scheduler.on_trial_result(None, trial, {TIME: epoch, OBJECTIVE: value})  # type: ignore[arg-type]
