"""The values that a setting may take in a sweep. Plain data: they are sampled and checked without Ray or Optuna."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

Value: TypeAlias = str | int | float | bool | None
_FACTORS = (0.8, 1.2)


class Domain(ABC):
    """The values of one setting."""

    @abstractmethod
    def at(self, share: float) -> Value:
        """The value at `share` in [0, 1] of the way through the domain; choices in their order, labels of variants."""

    @abstractmethod
    def near(self, value: Any, random: Random) -> Value:
        """A value next to `value`, as population based training explores; variants stay."""

    def sample(self, random: Random) -> Value:
        """A value drawn with `random`."""
        return self.at(random.random())

    def levels(self, count: int) -> list[Value]:
        """Every choice; of numbers `count` values evenly over the domain, both ends among them, no value twice."""
        shares = [i / (count - 1) for i in range(count)] if count > 1 else [0.5]
        return list(dict.fromkeys(self.at(share) for share in shares))

    def setting(self, value: Value) -> Any:
        """The configuration's value for `value`: a variant's sub-configuration or sequence, else the value itself."""
        return value


@dataclass(frozen=True)
class Choice(Domain):
    """One of some values."""

    values: tuple[Value, ...]

    def at(self, share: float) -> Value:
        """See `Domain`."""
        return _of(self.values, share)

    def near(self, value: Any, random: Random) -> Value:
        """A neighbour."""
        index = self.values.index(value) + random.choice((-1, 1))
        return self.values[min(len(self.values) - 1, max(0, index))]

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

    def at(self, share: float) -> Value:
        """See `Domain`."""
        return _of(list(self.values), share)

    def near(self, value: Any, random: Random) -> Value:  # noqa: ARG002
        """The same."""
        return str(value)

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

    def at(self, share: float) -> Value:
        """See `Domain`."""
        return self.low + share * (self.high - self.low)

    def near(self, value: Any, random: Random) -> Value:
        """A fifth more or less, within the ends."""
        return min(self.high, max(self.low, value * random.choice(_FACTORS)))

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class LogUniform(Uniform):
    """A number between two ends above 0, its logarithm evenly."""

    def at(self, share: float) -> Value:
        """See `Domain`."""
        return _log_between(self.low, self.high, share)

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}, logarithmic"


@dataclass(frozen=True)
class Integer(Domain):
    """A whole number between two ends, both included; `log`: its logarithm evenly."""

    low: int
    high: int
    log: bool = False

    def at(self, share: float) -> Value:
        """See `Domain`."""
        if self.log:
            return round(_log_between(self.low, self.high, share))
        return round(self.low + share * (self.high - self.low))

    def near(self, value: Any, random: Random) -> Value:
        """A fifth more or less, within the ends."""
        return min(self.high, max(self.low, round(value * random.choice(_FACTORS))))

    def sample(self, random: Random) -> Value:
        """A value drawn with `random`."""
        return super().sample(random) if self.log else random.randint(self.low, self.high)

    def __str__(self) -> str:
        return f"{self.low} to {self.high}, whole{', logarithmic' if self.log else ''}"


def _of(values: Sequence[Value], share: float) -> Value:
    return values[min(len(values) - 1, int(share * len(values)))]


def _log_between(low: float, high: float, share: float) -> float:
    """Rounding must not lead out of the domain."""
    return min(high, max(low, low * math.exp(share * math.log(high / low))))
