"""Whether a concept co-occurs with a capsule more than chance allows: Fisher's exact test, false discovery rate."""

import numpy as np
from jaxtyping import Float64, Int64
from scipy.special import gammaln
from scipy.stats import false_discovery_control


def exact_p_values(
    joint: Int64[np.ndarray, "words capsules"],
    named: Int64[np.ndarray, " words"],
    active: Int64[np.ndarray, " capsules"],
    clips: int,
) -> Float64[np.ndarray, "words capsules"]:
    """Fisher's exact test of each pair: p = min(1, 2 min(P(K ≤ k), P(K ≥ k))), K hypergeometric with both margins.

    Exact because most words are rare: with few expected joint clips the G-test finds concepts in noise. Clips count as
    independent, which those of one video hardly are. A p-value depends on the two margins and the joint count alone, so
    the loop is over distinct margins, not over pairs: a hundred times as fast as scipy's hypergeom.
    """
    log_factorial = gammaln(np.arange(clips + 1) + 1)
    result = np.ones(joint.shape)
    for active_clips in np.unique(active):
        columns = np.flatnonzero(active == active_clips)
        for named_clips in np.unique(named):
            rows = np.flatnonzero(named == named_clips)
            table = _two_sided(log_factorial, int(named_clips), int(active_clips), clips)
            least = max(0, int(named_clips + active_clips) - clips)
            result[np.ix_(rows, columns)] = table[joint[np.ix_(rows, columns)] - least]
    return result


def _two_sided(log_factorial: np.ndarray, named: int, active: int, clips: int) -> np.ndarray:
    """The p-value of every joint count that the margins allow, from the smallest up."""
    k = np.arange(max(0, named + active - clips), min(named, active) + 1)

    def log_choose(n: int, r: np.ndarray) -> np.ndarray:
        return np.asarray(log_factorial[n] - log_factorial[r] - log_factorial[n - r])

    total = log_factorial[clips] - log_factorial[active] - log_factorial[clips - active]
    mass = np.exp(log_choose(named, k) + log_choose(clips - named, active - k) - total)
    up_to, from_on = np.cumsum(mass), np.cumsum(mass[::-1])[::-1]
    return np.minimum(1.0, 2 * np.minimum(up_to, from_on))


def adjusted(p_values: Float64[np.ndarray, "*shape"]) -> Float64[np.ndarray, "*shape"]:
    """Benjamini and Hochberg's adjusted p-values over all entries: q₍ᵢ₎ = min over j ≥ i of p₍ⱼ₎ n / j.

    Among the entries with q ≤ α the expected share of false discoveries is at most α.
    """
    return false_discovery_control(p_values, axis=None).reshape(p_values.shape)
