"""Ray Tune's schedulers for sweeps, over epochs. ASHA looks at the best validation so far, which resuming keeps."""

from collections.abc import Iterable
from random import Random
from types import SimpleNamespace
from typing import Any, TypeAlias, assert_never

from ray.tune.experiment import Trial
from ray.tune.schedulers import AsyncHyperBandScheduler, FIFOScheduler, PopulationBasedTraining, TrialScheduler

from tune_spaces.points import SchedulerKind, perturbed
from vtr_core.ray_private import ExploredConfig
from vtr_core.run.space import Space

TIME, VALUE, OBJECTIVE = "epoch", "value", "objective"
REDUCTION = 3
"""Reduction factor of ASHA: about one in so many trials continues at epochs 1, 3, 9, … times the validation
interval."""
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
            return Population(space, validate_every, Random(seed))
        case "none":
            return FIFOScheduler()
        case _:
            assert_never(kind)


class Population(ExploredConfig, PopulationBasedTraining):
    """Population based training (Jaderberg et al. 2017): at a validation the worst quarter goes on from the best.

    A trial that does so takes the weights of one of the best quarter, and a point near that one's. Trials are compared
    by the validation itself, not by the best one so far, which weights that were left behind may have reached.
    """

    def __init__(self, space: Space, validate_every: int, random: Random) -> None:
        self._space, self._random = space, random
        super().__init__(
            TIME,
            VALUE,
            "max",
            perturbation_interval=validate_every,
            custom_explore_fn=dict,  # it wants one, or settings in a form of its own: see `explored`
            log_config=False,
            require_attrs=False,
        )

    def explored(self, trial: Trial, better: Trial) -> dict[str, Any]:
        """The trial stays itself, with a point near the other's."""
        point = perturbed(self._space, better.config["trial"]["point"], self._random)
        return {**trial.config, "trial": {**trial.config["trial"], "point": point}}


def tell_earlier(scheduler: TrialScheduler, earlier: Iterable[tuple[str, Reports]]) -> None:
    """Let ASHA know what trials that ended before the sweep was resumed had reported, so that its cuts stay."""
    if not isinstance(scheduler, AsyncHyperBandScheduler):
        return
    for name, reports in earlier:
        trial: Any = SimpleNamespace(trial_id=name)
        scheduler.on_trial_add(None, trial)  # type: ignore[arg-type]
        for epoch, value in reports:
            scheduler.on_trial_result(None, trial, {TIME: epoch, OBJECTIVE: value})  # type: ignore[arg-type]
