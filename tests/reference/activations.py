"""Capsules and concepts, clip by clip and pair by pair: slow and obvious."""

import math
from fractions import Fraction


def active_clips(values: list[float], share: float) -> list[bool]:
    """The strongest `share` of clips, with all that tie with the last; never those at the minimum."""
    wanted = max(1, int(share * len(values)))
    last = sorted(values, reverse=True)[wanted - 1]
    if last == min(values):
        return [value > last for value in values]
    return [value >= last for value in values]


def mutual_information(x: list[bool], y: list[bool]) -> float:
    """In bits, from the relative frequencies of the four pairs of values."""
    n, total = len(x), 0.0
    for a in (False, True):
        for b in (False, True):
            both = sum(i == a and j == b for i, j in zip(x, y, strict=True)) / n
            one, other = sum(i == a for i in x) / n, sum(j == b for j in y) / n
            if both:
                total += both * math.log2(both / (one * other))
    return total


def entropy(share: float) -> float:
    """Of a coin, in bits."""
    return -sum(p * math.log2(p) for p in (share, 1 - share) if p)


def exact_p(joint: int, named: int, active: int, clips: int) -> float:
    """Twice the smaller hypergeometric tail, in whole numbers."""
    ways = {
        k: math.comb(named, k) * math.comb(clips - named, active - k)
        for k in range(max(0, named + active - clips), min(named, active) + 1)
    }
    everything = math.comb(clips, active)
    up_to = Fraction(sum(w for k, w in ways.items() if k <= joint), everything)
    from_on = Fraction(sum(w for k, w in ways.items() if k >= joint), everything)
    return float(min(Fraction(1), 2 * min(up_to, from_on)))


def adjusted(p_values: list[float]) -> list[float]:
    """Benjamini and Hochberg: of each p the least p_j n / rank_j over all p_j that are not smaller."""
    n = len(p_values)

    def scaled(p: float) -> float:
        return p * n / sum(other <= p for other in p_values)

    return [min(1.0, *(scaled(other) for other in p_values if other >= p)) for p in p_values]
