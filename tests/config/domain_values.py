"""Whether a value is of a domain, as slow code says it."""

from typing import Any

from vtr_core.config.search_space import Choice, Domain, Integer, Uniform, Variant


def contains(domain: Domain, value: Any) -> bool:
    """Whether `value` is in the domain."""
    match domain:
        case Choice(values) | Variant(values):
            return value in values
        case Integer(low, high):
            return type(value) is int and low <= value <= high
        case Uniform(low, high):
            return type(value) in (int, float) and low <= value <= high
        case _:
            return False
