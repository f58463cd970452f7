"""Points from Optuna's tree-structured Parzen estimator, given the results so far."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState
from ray.tune.search import Searcher

from tune_spaces.schedulers import OBJECTIVE
from vtr_core.config.domains import Choice, Domain, Integer, LogUniform, Uniform, Value, Variant
from vtr_core.run.space import Point, Space


def distribution(domain: Domain) -> BaseDistribution:
    """The domain as an Optuna distribution."""
    match domain:
        case Choice(values):
            return CategoricalDistribution(values)
        case Variant(values):
            return CategoricalDistribution(tuple(values))
        case Uniform(low, high):
            return FloatDistribution(low, high)
        case LogUniform(low, high):
            return FloatDistribution(low, high, log=True)
        case Integer(low, high, log):
            return IntDistribution(low, high, log=log)
        case _:
            assert_never(domain)


class OptunaPoints(Searcher):
    """Suggests numbered points to Tune one by one; inactive settings of a point are left out.

    waiting: numbered points of an interrupted sweep, whose trials continue first; known: points and results of ended
    trials; first: the number of the first new point.
    """

    def __init__(
        self,
        space: Space,
        seed: int,
        waiting: Sequence[tuple[int, Point]] = (),
        known: Sequence[tuple[Point, float]] = (),
        first: int = 0,
    ) -> None:
        super().__init__(metric=OBJECTIVE, mode="max")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space, self._waiting, self._next = space, list(waiting), first
        # Another seed after every resumption; otherwise the first points would be repeated.
        sampler = optuna.samplers.TPESampler(seed=seed + first)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._asked: dict[str, optuna.trial.Trial] = {}
        for point, value in known:
            distributions = {name: distribution(space.parameters[name].domain) for name in point}
            self._study.add_trial(
                optuna.trial.create_trial(params=dict(point), distributions=distributions, value=value)
            )

    def suggest(self, trial_id: str) -> dict[str, Any]:
        """The next trial's number and point."""
        if self._waiting:
            number, wanted = self._waiting.pop(0)
            self._study.enqueue_trial(dict(wanted))
        else:
            number, self._next = self._next, self._next + 1
        self._asked[trial_id] = self._study.ask()
        return {"trial": {"number": number, "point": self._point(self._asked[trial_id])}}

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        """Record the result of a trial; failed trials are ignored."""
        asked = self._asked.pop(trial_id, None)
        if asked is None:
            return
        value = None if error or result is None else result.get(OBJECTIVE)
        if value is None:
            self._study.tell(asked, state=TrialState.FAIL)
        else:
            self._study.tell(asked, float(value))

    def save(self, checkpoint_path: str) -> None:
        """Do nothing: a sweep resumes from its own record."""
        Path(checkpoint_path).touch()

    def restore(self, checkpoint_path: str) -> None:
        """Do nothing: nothing is saved."""

    def _point(self, asked: optuna.trial.Trial) -> dict[str, Value]:
        point: dict[str, Value] = {}
        for name, parameter in self._space.parameters.items():
            if self._space.is_active(name, point):
                point[name] = _suggested(asked, name, parameter.domain)
        return point


def _suggested(asked: optuna.trial.Trial, name: str, domain: Domain) -> Value:
    match domain:
        case Choice(values):
            return asked.suggest_categorical(name, values)
        case Variant(values):
            return asked.suggest_categorical(name, tuple(values))
        case Uniform(low, high):
            return asked.suggest_float(name, low, high)
        case LogUniform(low, high):
            return asked.suggest_float(name, low, high, log=True)
        case Integer(low, high, log):
            return asked.suggest_int(name, low, high, log=log)
        case _:
            assert_never(domain)
