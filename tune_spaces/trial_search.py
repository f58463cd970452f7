"""Search among trials: Ray Tune's schedulers, Optuna's points, at random or by the results so far."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias, assert_never

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState
from ray.tune.schedulers import AsyncHyperBandScheduler, FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from vtr_core.config.search_space import (
    Choice,
    Domain,
    Integer,
    LogUniform,
    Point,
    SchedulerKind,
    SearchKind,
    Space,
    Uniform,
    Value,
    Variant,
)

TIME, VALUE, OBJECTIVE = "epoch", "value", "objective"
REDUCTION = 3
"""Reduction factor of ASHA: about one in REDUCTION trials continues at epochs 1, 3, 9, … times the validation
interval."""
Reports: TypeAlias = Iterable[tuple[float, float]]
"""(epoch, objective) of a trial, in order."""


def build_scheduler(kind: SchedulerKind, validate_every: int, epochs: int) -> TrialScheduler:
    """The scheduler `kind` for trials of `epochs` epochs with a validation every `validate_every`."""
    match kind:
        case "asha":
            # max_t is beyond the last epoch: a trial must end by itself to count as finished.
            grace = min(validate_every, epochs)
            return AsyncHyperBandScheduler(
                TIME, OBJECTIVE, "max", max_t=epochs + 1, grace_period=grace, reduction_factor=REDUCTION
            )
        case "none":
            return FIFOScheduler()
        case _:
            assert_never(kind)


def tell_earlier(scheduler: TrialScheduler, earlier: Iterable[tuple[str, Reports]]) -> None:
    """Replay the reports of trials that ended before a resumption to ASHA, so that its cutoffs are kept."""
    if not isinstance(scheduler, AsyncHyperBandScheduler):
        return
    for name, reports in earlier:
        trial: Any = SimpleNamespace(trial_id=name)
        scheduler.on_trial_add(None, trial)  # type: ignore[arg-type]
        for epoch, value in reports:
            scheduler.on_trial_result(None, trial, {TIME: epoch, OBJECTIVE: value})  # type: ignore[arg-type]


def distribution(domain: Domain) -> BaseDistribution:
    """The domain as an Optuna distribution."""
    match domain:
        case Choice(values):
            return CategoricalDistribution(values)
        case Variant(values):
            return CategoricalDistribution(tuple(values))
        case Integer(low, high):
            return IntDistribution(low, high)
        case LogUniform(low, high):
            return FloatDistribution(low, high, log=True)
        case Uniform(low, high):
            return FloatDistribution(low, high)
        case _:
            raise TypeError(f"{domain!r} is no domain of vtr_core.config.search_space")


class OptunaPoints(Searcher):
    """Suggests numbered points to Tune one by one: at random, or, by `optuna`, from where results were good so far.

    Inactive settings of a point are left out.
    waiting: numbered points of an interrupted sweep, whose trials continue first; known: points and results of ended
    trials; first: the number of the first new point.
    """

    def __init__(
        self,
        space: Space,
        seed: int,
        search: SearchKind = "optuna",
        waiting: Sequence[tuple[int, Point]] = (),
        known: Sequence[tuple[Point, float]] = (),
        first: int = 0,
    ) -> None:
        super().__init__(metric=OBJECTIVE, mode="max")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space, self._waiting, self._next = space, list(waiting), first
        # Another seed after every resumption; otherwise the first points would be repeated.
        sampler = optuna.samplers.TPESampler if search == "optuna" else optuna.samplers.RandomSampler
        self._study = optuna.create_study(direction="maximize", sampler=sampler(seed=seed + first))
        self._asked: dict[str, optuna.trial.Trial] = {}
        for point, value in known:
            distributions = {name: distribution(space.parameters[name].domain) for name in point}
            self._study.add_trial(
                optuna.trial.create_trial(params=dict(point), distributions=distributions, value=value)
            )

    def suggest(self, trial_id: str) -> dict[str, Any]:
        """The next trial's number and point."""
        if self._waiting:
            number, point = self._waiting.pop(0)
            self._study.enqueue_trial(dict(point))
        else:
            number, self._next = self._next, self._next + 1
        self._asked[trial_id] = self._study.ask()
        return {"trial": {"number": number, "point": self._point(self._asked[trial_id])}}

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        """Record the result of a trial; failed trials are ignored."""
        trial = self._asked.pop(trial_id, None)
        if trial is None:
            return
        value = None if error or result is None else result.get(OBJECTIVE)
        if value is None:
            self._study.tell(trial, state=TrialState.FAIL)
        else:
            self._study.tell(trial, float(value))

    def save(self, checkpoint_path: str) -> None:
        """Do nothing: a sweep resumes from its own record."""
        Path(checkpoint_path).touch()

    def restore(self, checkpoint_path: str) -> None:
        """Do nothing: nothing is saved."""

    def _point(self, trial: optuna.trial.Trial) -> dict[str, Value]:
        point: dict[str, Value] = {}
        for name, parameter in self._space.parameters.items():
            if self._space.is_active(name, point):
                point[name] = _suggested(trial, name, parameter.domain)
        return point


def _suggested(trial: optuna.trial.Trial, name: str, domain: Domain) -> Value:
    match distribution(domain):
        case CategoricalDistribution(choices=choices):
            return trial.suggest_categorical(name, choices)
        case FloatDistribution(low=low, high=high, log=log):
            return trial.suggest_float(name, low, high, log=log)
        case IntDistribution(low=low, high=high):
            return trial.suggest_int(name, low, high)
        case other:
            raise AssertionError(f"no distribution of ours: {other}")
