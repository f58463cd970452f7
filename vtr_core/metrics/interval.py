"""Confidence intervals of proportions estimated from a sample of queries."""

import math


def wilson_interval(share: float, count: int, z: float = 1.959964) -> tuple[float, float]:
    """The interval of the true proportions p with |share − p| ≤ z √(p (1 − p) / count); by default of 95 % confidence.

    share: in [0, 1], of `count` ≥ 1 sampled queries. Source: Wilson 1927, "Probable inference, the law of succession,
    and statistical inference". Under expected ties a query's recall lies between 0 and 1; the interval is then too
    wide.
    """
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    middle, scale = share + z * z / (2 * count), 1 + z * z / count
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)
