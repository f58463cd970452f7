"""Domains without Ray: drawing, ends, membership; what Ray and Optuna would draw lies in them too."""

import math
from random import Random

import pytest

from vtr_core.config.domains import (
    Choice,
    Domain,
    Integer,
    LogUniform,
    Uniform,
    Variant,
    at,
    contains,
    levels,
    nearest,
    sample,
    setting,
    share_of,
)

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
    drawn = [sample(domain, random) for _ in range(3000)]
    assert all(contains(domain, value) for value in drawn)
    shares = [share_of(domain, value) for value in drawn]
    assert min(shares) < 0.05
    assert max(shares) > 0.95
    assert sum(shares) / len(shares) == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_levels_are_inside_and_have_the_ends(domain: Domain) -> None:
    found = levels(domain, 3)
    assert all(contains(domain, value) for value in found)
    assert (share_of(domain, found[0]), share_of(domain, found[-1])) == pytest.approx((0.0, 1.0))
    assert len(set(found)) == len(found)


def test_golden_levels() -> None:
    assert levels(LogUniform(0.01, 1.0), 3) == pytest.approx([0.01, 0.1, 1.0])
    assert levels(Uniform(0.0, 1.0), 3) == [0.0, 0.5, 1.0]
    assert levels(Integer(0, 1), 3) == [0, 1]
    assert levels(Integer(1, 100, log=True), 3) == [1, 10, 100]
    assert levels(Choice((3, 1)), 9) == [3, 1]


def test_a_share_and_its_value() -> None:
    assert at(LogUniform(1.0, math.e**2), 0.5) == pytest.approx(math.e)
    assert at(Choice((1, 2)), 1.0) == 2
    assert share_of(Choice((1,)), 1) == 0.5


def test_beyond_the_ends() -> None:
    assert nearest(Uniform(0.0, 0.5), 0.7) == 0.5
    assert nearest(Integer(2, 8), 1.6) == 2
    assert nearest(Choice((1, 2)), 5) == 1
    assert not contains(Integer(0, 3), 1.0)
    assert not contains(Integer(0, 3), True)
    assert not contains(Uniform(0.0, 1.0), "0.5")


def test_a_variant_is_set_whole() -> None:
    assert setting(DOMAINS[2], "two") == {"kind": "y", "size": 2}
    assert setting(Choice((3,)), 3) == 3
