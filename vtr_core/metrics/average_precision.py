"""Average precision over the full ranking, and inferred from samples of judgements."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from vtr_core.metrics.ranks import MetricError, Relevance, Standing, TiePolicy


def average_precision(ranks: Standing, relevance: Relevance, ties: TiePolicy) -> Float[np.ndarray, " queries"]:
    """AP_q = mean over the relevant items of q of the precision at their rank; 0 for a query without any.

    expected: the mean of AP over random orders of items with equal scores, see `expected_precision`.
    optimistic, pessimistic: the relevant ones come first or last among items with equal scores.
    """
    rows = np.repeat(np.arange(relevance.num_queries), relevance.counts)
    sums = np.bincount(rows, weights=_precision(ranks, relevance, ties), minlength=relevance.num_queries)
    return sums / np.maximum(relevance.counts, 1)


def expected_precision(
    higher: Int[np.ndarray, " pairs"],
    equal: Int[np.ndarray, " pairs"],
    relevant_higher: Int[np.ndarray, " pairs"],
    relevant_equal: Int[np.ndarray, " pairs"],
    num_items: int,
) -> Float[np.ndarray, " pairs"]:
    """The expected precision at the rank of one of r relevant among n tied items, all orders being equally likely.

    E = 1/n Σ_{i=1…n} (R + 1 + (i − 1)(r − 1)/(n − 1)) / (N + i), N items and R relevant ones scoring higher
      = 1/n [(R + 1) h + (r − 1)/(n − 1) (n − (N + 1) h)],  h = Σ_{i=1…n} 1/(N + i)

    Source: McSherry and Najork 2008, "Computing information retrieval performance measures efficiently in the presence
    of tied scores". Without a tie (n = 1) exactly (R + 1)/(N + 1).
    """
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, num_items + 1))])
    h = harmonic[higher + equal] - harmonic[higher]
    per_item = (relevant_equal - 1) / np.maximum(equal - 1, 1)
    tied = ((relevant_higher + 1) * h + per_item * (equal - (higher + 1) * h)) / equal
    return np.where(equal == 1, (relevant_higher + 1) / (higher + 1), tied)


def _precision(ranks: Standing, relevance: Relevance, ties: TiePolicy) -> Float[np.ndarray, " pairs"]:
    """The precision at the rank of every relevant item."""
    if ties == "expected":
        return expected_precision(
            ranks.higher, ranks.equal, ranks.relevant_higher, ranks.relevant_equal, relevance.num_items
        )
    starts = np.repeat(relevance.offsets[:-1], relevance.counts)
    relevant_so_far = np.arange(len(ranks.higher)) - starts + 1
    others_first = ranks.equal - ranks.relevant_equal if ties == "pessimistic" else 0
    return relevant_so_far / (ranks.higher - ranks.relevant_higher + relevant_so_far + others_first)


RELEVANT_PRIOR, JUDGED_PRIOR = 0.00001, 0.00003
"""Smoothing of the counts above a rank: a stratum without a judgement so far counts as one third relevant."""


@dataclass(frozen=True)
class Judgement:
    """A pooled item: its stratum, and whether it is relevant (None: not judged)."""

    stratum: str
    relevant: bool | None


@dataclass(frozen=True)
class InferredAveragePrecision:
    """infAP of one topic, and the estimated number of relevant items that it rests on."""

    value: float
    num_relevant: float


def inferred_average_precision(
    ranking: Sequence[str], pool: Mapping[str, Judgement], *, max_results: int = 1000
) -> InferredAveragePrecision:
    """infAP (xinfAP): AP estimated where each stratum of the pool was judged at its own sampling rate.

    infAP = Σ_s R̂_s/R̂ · (1/rel_s) Σ over retrieved judged relevant items of s of the expected precision at their rank,
    R̂_s = rel_s · pooled_s / judged_s, R̂ = Σ_s R̂_s        (Yilmaz, Kanoulas, Aslam 2008; NIST's `sample_eval`)

    ranking: item ids, best first, ties broken by the caller (NIST: by descending id); the first `max_results` count.
    Items outside the pool only occupy ranks. As in `sample_eval` since 2012, infAP is multiplied by R̂/max_results
    where R̂ is larger, since no run could retrieve them all. Without a relevant item infAP is 0. Raises MetricError for
    an id that occurs twice in the ranking.
    """
    if len(set(ranking)) != len(ranking):
        twice = next(name for name, count in Counter(ranking).items() if count > 1)
        raise MetricError(f"item {twice} occurs more than once in the ranking")
    judged = Counter(item.stratum for item in pool.values() if item.relevant is not None)
    relevant = Counter(item.stratum for item in pool.values() if item.relevant)
    pooled = Counter(item.stratum for item in pool.values())
    estimates = {stratum: count * pooled[stratum] / judged[stratum] for stratum, count in relevant.items()}
    num_relevant = sum(estimates.values())
    if not num_relevant:
        return InferredAveragePrecision(value=0.0, num_relevant=0.0)
    sums = _precision_sums(ranking[:max_results], pool)
    value = sum(estimates[stratum] * sums[stratum] / relevant[stratum] for stratum in relevant) / num_relevant
    return InferredAveragePrecision(value * max(1.0, num_relevant / max_results), num_relevant)


def _precision_sums(ranking: Sequence[str], pool: Mapping[str, Judgement]) -> dict[str, float]:
    """Per stratum, the sum of the expected precisions at the ranks of its judged relevant items.

    At rank k it is 1/k + Σ_s pooled_s/k · (rel_s + ε)/(judged_s + 3ε), with the counts of the items above.
    """
    pooled, judged, relevant = Counter[str](), Counter[str](), Counter[str]()
    sums = dict.fromkeys({item.stratum for item in pool.values()}, 0.0)
    for rank, name in enumerate(ranking, start=1):
        judgement = pool.get(name)
        if judgement is None:
            continue
        if judgement.relevant:
            above = sum(
                count * (relevant[stratum] + RELEVANT_PRIOR) / (judged[stratum] + JUDGED_PRIOR)
                for stratum, count in pooled.items()
            )
            sums[judgement.stratum] += (1 + above) / rank
        pooled[judgement.stratum] += 1
        judged[judgement.stratum] += judgement.relevant is not None
        relevant[judgement.stratum] += judgement.relevant is True
    return sums
