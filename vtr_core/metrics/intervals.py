"""Confidence intervals: of proportions, of means over seeds, and of paired differences by bootstrap."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np
from jaxtyping import Float64
from scipy.stats import t

from vtr_core.metrics.ranks import MetricError


def wilson_interval(share: float, count: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """The interval of the true proportions p with |share − p| ≤ z √(p (1 − p) / count); by default of 95 % confidence.

    share: in [0, 1], of `count` ≥ 1 sampled queries. Source: Wilson 1927, "Probable inference, the law of succession,
    and statistical inference". Under expected ties a query's recall lies between 0 and 1; the interval is then too
    wide.
    """
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    middle, scale = share + z * z / (2 * count), 1 + z * z / count
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


CONFIDENCE = 0.95
_RESAMPLES = 1000


class PairedBootstrap:
    """Percentile interval (Efron 1979) of a mean over `items` paired differences.

    Every resample draws as many items as there are, with replacement; all differences are judged by the same resamples,
    drawn once with `seed`, so that one difference does not win over another by its draw.
    """

    def __init__(self, items: int, seed: int = 0, resamples: int = _RESAMPLES) -> None:
        if items < 1 or resamples < 1:
            raise MetricError(f"a bootstrap of {items} items in {resamples} resamples; at least one of each")
        drawn = np.random.default_rng(seed).multinomial(items, np.full(items, 1 / items), size=resamples)
        self._shares = drawn / items

    def lower(self, differences: Float64[np.ndarray, " items"], confidence: float = CONFIDENCE) -> float:
        """The lower end of the two-sided interval of the mean difference: its (1 − confidence) / 2 quantile."""
        return float(np.quantile(self._shares @ differences, (1 - confidence) / 2))


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
