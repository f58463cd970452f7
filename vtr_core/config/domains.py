"""The values that a setting may take in a sweep. Plain data: they are sampled and checked without Ray or Optuna."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias, assert_never

Value: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True)
class Choice:
    """One of some values."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class Variant:
    """One of some whole sub-configurations, or sequences, each by a label; a tagged union is chosen whole, not by its
    kind alone."""

    values: Mapping[str, Mapping[str, Any] | tuple[int, ...]]


@dataclass(frozen=True)
class Uniform:
    """A number between two ends."""

    low: float
    high: float


@dataclass(frozen=True)
class LogUniform:
    """A number between two ends above 0, its logarithm evenly."""

    low: float
    high: float


@dataclass(frozen=True)
class Integer:
    """A whole number between two ends, both included; `log`: its logarithm evenly."""

    low: int
    high: int
    log: bool = False


Domain: TypeAlias = Choice | Variant | Uniform | LogUniform | Integer


def at(domain: Domain, share: float) -> Value:
    """The value at `share` in [0, 1] of the way through the domain; choices in their order, labels of variants."""
    match domain:
        case Choice(values):
            return values[_index(share, len(values))]
        case Variant(values):
            return list(values)[_index(share, len(values))]
        case Uniform(low, high):
            return low + share * (high - low)
        case LogUniform(low, high):
            return _between(low, high, share)
        case Integer(low, high, log):
            value = _between(low, high, share) if log else low + share * (high - low)
            return min(high, max(low, round(value)))
        case _:
            assert_never(domain)


def share_of(domain: Domain, value: Value) -> float:
    """The relative position of `value` in the domain, in [0, 1]: the inverse of `at`; 1/2 for a single choice."""
    match domain:
        case Choice(values):
            return _place(values.index(value), len(values))
        case Variant(values):
            return _place(list(values).index(str(value)), len(values))
        case Uniform(low, high):
            return (float(value or 0) - low) / (high - low)
        case LogUniform(low, high):
            return _log_share(low, high, value)
        case Integer(low, high, log):
            return _log_share(low, high, value) if log else (float(value or 0) - low) / (high - low)
        case _:
            assert_never(domain)


def sample(domain: Domain, random: Random) -> Value:
    """A value drawn with `random`."""
    match domain:
        case Integer(low, high, False):
            return random.randint(low, high)
        case _:
            return at(domain, random.random())


def levels(domain: Domain, count: int) -> list[Value]:
    """Every choice; of numbers `count` values evenly over the domain, both ends among them, no value twice."""
    match domain:
        case Choice(values):
            return list(values)
        case Variant(values):
            return list(values)
        case Uniform() | LogUniform() | Integer():
            shares = [i / (count - 1) for i in range(count)] if count > 1 else [0.5]
            return list(dict.fromkeys(at(domain, share) for share in shares))
        case _:
            assert_never(domain)


def contains(domain: Domain, value: Any) -> bool:
    """Whether `value` is in the domain."""
    match domain:
        case Choice(values):
            return value in values
        case Variant(values):
            return value in values
        case Uniform(low, high) | LogUniform(low, high):
            return type(value) in (int, float) and low <= value <= high
        case Integer(low, high):
            return type(value) is int and low <= value <= high
        case _:
            assert_never(domain)


def nearest(domain: Domain, value: Any) -> Value:
    """`value`, or the end of the domain beyond which it lies."""
    match domain:
        case Uniform(low, high) | LogUniform(low, high):
            return min(high, max(low, float(value)))
        case Integer(low, high):
            return min(high, max(low, round(value)))
        case Choice() | Variant():
            return value if contains(domain, value) else at(domain, 0.0)
        case _:
            assert_never(domain)


def setting(domain: Domain, value: Value) -> Any:
    """The configuration's value for `value`: a variant's sub-configuration or sequence, else the value itself."""
    match domain:
        case Variant(values):
            found = values[str(value)]
            return found if isinstance(found, tuple) else dict(found)
        case _:
            return value


def describe(domain: Domain) -> str:
    """The domain in a few words."""
    match domain:
        case Choice(values):
            return ", ".join(map(str, values))
        case Variant(values):
            return ", ".join(values)
        case Uniform(low, high):
            return f"{low:g} to {high:g}"
        case LogUniform(low, high):
            return f"{low:g} to {high:g}, logarithmic"
        case Integer(low, high, log):
            return f"{low} to {high}, whole{', logarithmic' if log else ''}"
        case _:
            assert_never(domain)


def _between(low: float, high: float, share: float) -> float:
    """Rounding must not lead out of the domain."""
    return min(high, max(low, low * math.exp(share * math.log(high / low))))


def _log_share(low: float, high: float, value: Value) -> float:
    return math.log(float(value or low) / low) / math.log(high / low)


def _index(share: float, count: int) -> int:
    return min(count - 1, int(share * count))


def _place(index: int, count: int) -> float:
    return index / (count - 1) if count > 1 else 0.5
