"""The correlation of two concepts over videos, written out as Pearson's of lists of 0 and 1."""

import math


def correlation(first, second):
    """Pearson's correlation of two lists; None where one of them does not vary."""
    count = len(first)
    mean_first, mean_second = sum(first) / count, sum(second) / count
    joint = spread_first = spread_second = 0.0
    for a, b in zip(first, second, strict=True):
        joint += (a - mean_first) * (b - mean_second)
        spread_first += (a - mean_first) ** 2
        spread_second += (b - mean_second) ** 2
    if spread_first == 0 or spread_second == 0:
        return None
    return joint / math.sqrt(spread_first * spread_second)
