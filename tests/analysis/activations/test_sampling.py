"""Samples of clips depend on seed and key alone."""

import numpy as np

from vtr_core.analysis.concept_profiles import lowest, priorities


def splitmix(key: int, seed: int) -> int:
    mask = 2**64 - 1
    z = (key + (seed + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def test_priorities_are_splitmix64() -> None:
    assert int(priorities(np.array([0]), 0)[0]) == 0xE220A8397B1DCDAF  # the generator's first number from state 0
    keys = np.array([-5, 0, 3, 2**62])
    assert priorities(keys, 7).tolist() == [splitmix(int(key), 7) for key in keys]


def test_the_lowest_are_a_uniform_sample() -> None:
    """Over 200 seeds each of 40 clips is among the ten lowest about 50 times (4 deviations are 24)."""
    keys = np.arange(40)
    counts = sum(np.bincount(lowest(priorities(keys, seed), 10), minlength=40) for seed in range(200))
    assert counts.sum() == 2000
    assert 26 <= counts.min() <= counts.max() <= 74
