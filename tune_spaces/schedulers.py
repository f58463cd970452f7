"""Ray Tune's schedulers for sweeps, over epochs. ASHA compares the best validation so far, kept over resumptions."""

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
"""Reduction factor of ASHA: about one in REDUCTION trials continues at epochs 1, 3, 9, … times the validation
interval."""
Reports: TypeAlias = Iterable[tuple[float, float]]
"""(epoch, objective) of a trial, in order."""


def build_scheduler(kind: SchedulerKind, space: Space, validate_every: int, epochs: int, seed: int) -> TrialScheduler:
    """The scheduler `kind` for trials of `epochs` epochs with a validation every `validate_every`."""
    match kind:
        case "asha":
            # max_t is beyond the last epoch: a trial must end by itself to count as finished.
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
    """Population based training (Jaderberg et al. 2017): at validations the worst quarter continues from the best.

    A trial of the worst quarter takes the weights of one of the best quarter and a perturbation of its point. Trials
    are compared by the current validation, not by the best one so far, which replaced weights may have reached.
    """

    def __init__(self, space: Space, validate_every: int, random: Random) -> None:
        self._space, self._random = space, random
        super().__init__(
            TIME,
            VALUE,
            "max",
            perturbation_interval=validate_every,
            custom_explore_fn=dict,  # required unless settings have Ray's form; unused: see `explored`
            log_config=False,
            require_attrs=False,
        )

    def explored(self, trial: Trial, better: Trial) -> dict[str, Any]:
        """The trial's own settings, with a perturbation of the better trial's point."""
        point = perturbed(self._space, better.config["trial"]["point"], self._random)
        return {**trial.config, "trial": {**trial.config["trial"], "point": point}}


def tell_earlier(scheduler: TrialScheduler, earlier: Iterable[tuple[str, Reports]]) -> None:
    """Replay the reports of trials that ended before a resumption to ASHA, so that its cutoffs are kept."""
    if not isinstance(scheduler, AsyncHyperBandScheduler):
        return
    for name, reports in earlier:
        trial: Any = SimpleNamespace(trial_id=name)
        scheduler.on_trial_add(None, trial)  # type: ignore[arg-type]
        for epoch, value in reports:
            scheduler.on_trial_result(None, trial, {TIME: epoch, OBJECTIVE: value})  # type: ignore[arg-type]
