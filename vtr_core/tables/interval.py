"""Mean and confidence interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy.stats import t


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
