"""Rows are compared seed by seed, and a verdict needs an interval that leaves no doubt."""

import pytest

from benchmarks.capsule_ablation import compare

METRIC = "world/t2v/r10"


def test_differences_are_paired_by_seed() -> None:
    figures = {
        "routing-self-attention": {METRIC: (50.0, 40.0, 30.0)},
        "routing-dynamic": {METRIC: (49.0, 39.1, 28.9)},
        "routing-none": {METRIC: (49.0, 42.0, 28.0)},
        "routing-em": {METRIC: (60.0, 50.5, 39.5)},
    }
    found = {(one.better, one.worse): one for one in compare(figures, METRIC)}
    clear = found["routing-self-attention", "routing-dynamic"]
    assert clear.difference.mean == pytest.approx(1.0)  # the seeds differ by 20, the rows by 1
    assert clear.verdict == "holds"
    assert found["routing-self-attention", "routing-none"].verdict == "undecided"
    assert found["routing-self-attention", "routing-em"].verdict == "contradicted"
    assert ("", "fully-connected") not in found  # nothing was measured of it


def test_one_seed_decides_nothing() -> None:
    figures = {"routing-self-attention": {METRIC: (50.0,)}, "routing-dynamic": {METRIC: (10.0,)}}
    (one,) = [d for d in compare(figures, METRIC) if d.worse == "routing-dynamic"]
    assert one.verdict == "undecided"
