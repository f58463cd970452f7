"""Confidence intervals: of proportions, and of means over seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy.stats import t


def wilson_interval(share: float, count: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """The interval of the true proportions p with |share − p| ≤ z √(p (1 − p) / count); by default of 95 % confidence.

    share: in [0, 1], of `count` ≥ 1 sampled queries. Source: Wilson 1927, "Probable inference, the law of succession,
    and statistical inference". Under expected ties a query's recall lies between 0 and 1; the interval is then too
    wide.
    """
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    middle, scale = share + z * z / (2 * count), 1 + z * z / count
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


@dataclass(frozen=True)
class Estimate:
    """The mean over seeds, their standard deviation, and half the width of the 95 % confidence interval.

    Both are None with fewer than two seeds, which tell nothing of their spread.
    """

    mean: float
    deviation: float | None
    half_width: float | None
    seeds: int


def estimate(values: Sequence[float], confidence: float = 0.95) -> Estimate:
    """Student's interval for the mean of independent, roughly normal figures: mean ± t · s / √n, n − 1 degrees."""
    count = len(values)
    if count < 2:
        return Estimate(fmean(values), None, None, count)
    deviation = stdev(values)
    half_width = float(t.ppf((1 + confidence) / 2, count - 1)) * deviation / math.sqrt(count)
    return Estimate(fmean(values), deviation, half_width, count)
