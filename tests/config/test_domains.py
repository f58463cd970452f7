"""Domains without Ray: drawing, and ends."""

import itertools
from random import Random

import pytest

from tests.config.domain_values import contains
from vtr_core.config.search_space import Choice, Domain, Integer, LogUniform, Uniform, Variant

DOMAINS: list[Domain] = [
    Choice((4, 8, 16)),
    Choice(("a", None, True)),
    Variant({"one": {"kind": "x"}, "two": {"kind": "y", "size": 2}}),
    Uniform(-1.0, 3.0),
    LogUniform(1e-4, 1.0),
    Integer(0, 7),
    Integer(1, 1000, log=True),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_what_is_drawn_is_inside_and_reaches_everything(domain: Domain) -> None:
    random = Random(0)
    drawn = [domain.sample(random) for _ in range(3000)]
    assert all(contains(domain, value) for value in drawn)
    parts = [domain.at(i / 8) for i in range(9)]
    if isinstance(domain, Choice | Variant):
        assert {*drawn} == {*domain.levels(2)}
    else:  # an eighth of the draws in each eighth of the way
        for low, high in itertools.pairwise(parts):
            assert sum(low <= value <= high for value in drawn) > 0.09 * len(drawn)  # type: ignore[operator]


def test_golden_levels() -> None:
    assert LogUniform(0.01, 1.0).levels(3) == pytest.approx([0.01, 0.1, 1.0])
    assert Uniform(0.0, 1.0).levels(3) == [0.0, 0.5, 1.0]
    assert Integer(0, 1).levels(3) == [0, 1]
    assert Integer(1, 100, log=True).levels(3) == [1, 10, 100]
    assert Choice((3, 1)).levels(9) == [3, 1]
