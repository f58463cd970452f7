"""What a sweep may search: domains of a setting, and the space that they span."""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from vtr_core.config.override import override
from vtr_core.config.run import TrainConfig
from vtr_core.errors import ConfigError

Value: TypeAlias = str | int | float | bool | None


class Domain(ABC):
    """The values of one setting."""

    @abstractmethod
    def levels(self, count: int) -> list[Value]:
        """Every choice, labels of variants; of numbers `count` values evenly, with both ends, no value twice."""

    def setting(self, value: Value) -> Any:
        """The configuration's value for `value`: a variant's sub-configuration or sequence, else the value itself."""
        return value


@dataclass(frozen=True)
class Choice(Domain):
    """One of some values."""

    values: tuple[Value, ...]

    def levels(self, count: int) -> list[Value]:  # noqa: ARG002
        """All of them."""
        return list(self.values)

    def __str__(self) -> str:
        return ", ".join(map(str, self.values))


@dataclass(frozen=True)
class Variant(Domain):
    """One of some whole sub-configurations, or sequences, each by a label; a tagged union is chosen whole, not by its
    kind alone."""

    values: Mapping[str, Mapping[str, Any] | tuple[int, ...]]

    def levels(self, count: int) -> list[Value]:  # noqa: ARG002
        """All labels."""
        return list(self.values)

    def setting(self, value: Value) -> Any:
        """See `Domain`."""
        chosen = self.values[str(value)]
        return chosen if isinstance(chosen, tuple) else dict(chosen)

    def __str__(self) -> str:
        return ", ".join(self.values)


@dataclass(frozen=True)
class Uniform(Domain):
    """A number between two ends."""

    low: float
    high: float

    def at(self, share: float) -> float:
        """The number at `share` in [0, 1] of the way."""
        return self.low + share * (self.high - self.low)

    def levels(self, count: int) -> list[Value]:
        """See `Domain`."""
        return list(dict.fromkeys(self.at(i / (count - 1)) for i in range(count)))

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class LogUniform(Uniform):
    """A number between two ends above 0, its logarithm evenly."""

    def at(self, share: float) -> float:
        """See `Uniform`; rounding must not lead out of the domain."""
        return min(self.high, max(self.low, self.low * math.exp(share * math.log(self.high / self.low))))

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}, logarithmic"


@dataclass(frozen=True)
class Integer(Uniform):
    """A whole number between two ends, both included."""

    low: int
    high: int

    def at(self, share: float) -> int:
        """See `Uniform`."""
        return round(super().at(share))

    def __str__(self) -> str:
        return f"{self.low} to {self.high}, whole"


Point: TypeAlias = Mapping[str, Value]
"""A value for every active setting, by dotted name; for a variant its label."""
GRID_LEVELS = 3
"""Values per numerical setting in a grid."""


@dataclass(frozen=True)
class OnlyWith:
    """A setting that exists only with some choices of another one, as a temperature with losses that have one."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Parameter:
    """A setting and its domain."""

    domain: Domain
    only_with: OnlyWith | None = None


@dataclass(frozen=True)
class Space:
    """The settings that a sweep varies. A setting comes after those that it depends on."""

    name: str
    preset: str
    parameters: Mapping[str, Parameter]

    def is_active(self, name: str, point: Point) -> bool:
        """Whether the setting is active at a point, which has values for all settings before it."""
        only_with = self.parameters[name].only_with
        return (
            only_with is None or only_with.name not in self.parameters or point.get(only_with.name) in only_with.values
        )

    def applied(self, base: TrainConfig, point: Point) -> TrainConfig:
        """`base` with the point's settings; ConfigError where they are invalid, alone or together.

        Variants are applied first: other settings may lie inside them.
        """
        domains = {name: self.parameters[name].domain for name in point}
        variants = {n: d.setting(point[n]) for n, d in domains.items() if isinstance(d, Variant)}
        return override(override(base, variants), {n: v for n, v in point.items() if n not in variants})

    def grid(self) -> list[dict[str, Value]]:
        """All combinations of the choices and of `GRID_LEVELS` values of every number."""
        points: list[dict[str, Value]] = [{}]
        for name, parameter in self.parameters.items():
            values = parameter.domain.levels(GRID_LEVELS)
            points = [
                grown
                for point in points
                for grown in ([{**point, name: value} for value in values] if self.is_active(name, point) else [point])
            ]
        return points

    def only(self, names: Sequence[str]) -> "Space":
        """The space restricted to these settings (all where there are none); the others stay as the preset has them."""
        unknown = [name for name in names if name not in self.parameters]
        if unknown:
            raise ConfigError(f"{self.name} does not vary {unknown[0]}; it varies {', '.join(self.parameters)}")
        varied = {name: parameter for name, parameter in self.parameters.items() if not names or name in names}
        return replace(self, parameters=varied)

    def fixed(self, names: Sequence[str], base: TrainConfig) -> "Space":
        """The space without these settings, whose values are given, and without those that `base` lacks."""
        varied = {n: p for n, p in self.parameters.items() if not any(_overlap(n, setting) for setting in names)}
        space = replace(self, parameters={n: p for n, p in varied.items() if self._exists(n, varied, base)})
        if not space.parameters:
            raise ConfigError(f"nothing of {self.name} is left to vary; it varies {', '.join(self.parameters)}")
        return space

    def _exists(self, name: str, varied: Mapping[str, Parameter], base: TrainConfig) -> bool:
        only_with = self.parameters[name].only_with
        if only_with is None or only_with.name in varied:
            return True
        try:
            for value in self.parameters[name].domain.levels(2):
                self.applied(base, {name: value})
        except ConfigError:
            return False
        return True


def extremes(space: Space) -> list[dict[str, Value]]:
    """Points that together cover every choice and both ends of every number; other settings have first values."""
    points = []
    for name, parameter in space.parameters.items():
        for value in parameter.domain.levels(2):
            points.append(_completed(space, {name: value}))
    return points


def _completed(space: Space, values: dict[str, Value]) -> dict[str, Value]:
    """`values` completed with the settings it depends on, and with first values for all others."""
    for name in list(values):
        only_with = space.parameters[name].only_with
        if only_with is not None and only_with.name in space.parameters:
            values[only_with.name] = only_with.values[0]
    point: dict[str, Value] = {}
    for name, parameter in space.parameters.items():
        if space.is_active(name, point):
            point[name] = values.get(name, parameter.domain.levels(2)[0])
    return point


def _overlap(name: str, other: str) -> bool:
    """Whether two dotted names are equal or one is a prefix of the other."""
    pairs = itertools.zip_longest(name.split("."), other.split("."))
    return all(a == b or a is None or b is None for a, b in pairs)


SearchKind: TypeAlias = Literal["optuna", "random", "grid"]
SchedulerKind: TypeAlias = Literal["asha", "none"]


def grid_points(
    space: Space, count: int, possible: Callable[[dict[str, Value]], bool] = lambda _: True
) -> list[dict[str, Value]]:
    """The points of a grid search of which a trial can be made, as `possible` says.

    More than `count` of them are a ConfigError, since a partial grid is not representative.
    """
    points = [point for point in space.grid() if possible(point)]
    if len(points) > count:
        raise ConfigError(
            f"the grid of {space.name} over {', '.join(space.parameters)} has {len(points)} points, "
            f"--num-samples allows {count}; vary less (--only, --a.b value), raise it, or use another --search"
        )
    return points
