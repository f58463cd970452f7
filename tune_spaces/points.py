"""Points of a space planned before the first trial, and perturbations of a point."""

from random import Random
from typing import Literal, TypeAlias, assert_never

from vtr_core.config.domains import Choice, Integer, LogUniform, Uniform, Value, Variant, at, nearest, sample
from vtr_core.errors import ConfigError
from vtr_core.run.space import Point, Space

SearchKind: TypeAlias = Literal["optuna", "random", "grid"]
SchedulerKind: TypeAlias = Literal["asha", "pbt", "none"]
_RESAMPLE = 0.25
_FACTORS = (0.8, 1.2)


def planned_points(space: Space, search: SearchKind, count: int, seed: int) -> list[dict[str, Value]]:
    """The points of a random or a grid search; none for optuna, whose points depend on results.

    A grid with more than `count` points is a ConfigError, since a partial grid is not representative.
    """
    match search:
        case "random":
            random = Random(seed)
            return [space.sample(random) for _ in range(count)]
        case "grid":
            points = space.grid()
            if len(points) > count:
                raise ConfigError(
                    f"the grid of {space.name} over {', '.join(space.parameters)} has {len(points)} points, "
                    f"--num-samples allows {count}; vary less (--only, --a.b value), raise it, or use another --search"
                )
            return points
        case "optuna":
            return []
        case _:
            assert_never(search)


def perturbed(space: Space, point: Point, random: Random) -> dict[str, Value]:
    """A point near `point`, as population based training explores (Jaderberg et al. 2017).

    Each setting is drawn anew with probability 0.25, else a number is multiplied by 0.8 or 1.2 and a choice replaced by
    a neighbour; variants stay.
    """
    return {name: _perturbed(space, name, value, random) for name, value in point.items()}


def _perturbed(space: Space, name: str, value: Value, random: Random) -> Value:
    domain = space.parameters[name].domain
    if isinstance(domain, Variant):
        return value
    if random.random() < _RESAMPLE:
        return sample(domain, random)
    match domain:
        case Choice(values):
            index = values.index(value) + random.choice((-1, 1))
            return values[min(len(values) - 1, max(0, index))]
        case Uniform() | LogUniform():
            return nearest(domain, float(value or 0) * random.choice(_FACTORS))
        case Integer():
            return nearest(domain, int(value or 0) * random.choice(_FACTORS))
        case _:
            return at(domain, random.random())
