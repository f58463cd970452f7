"""Levels of domains, without Ray."""

import pytest

from vtr_core.config.search_space import Choice, Integer, LogUniform, Uniform, Variant


def test_golden_levels() -> None:
    assert LogUniform(0.01, 1.0).levels(3) == pytest.approx([0.01, 0.1, 1.0])
    assert Uniform(0.0, 1.0).levels(3) == [0.0, 0.5, 1.0]
    assert Integer(0, 1).levels(3) == [0, 1]
    assert Integer(0, 7).levels(2) == [0, 7]
    assert Variant({"one": {"kind": "x"}, "two": (1, 2)}).levels(2) == ["one", "two"]
    assert Choice((3, 1)).levels(9) == [3, 1]
