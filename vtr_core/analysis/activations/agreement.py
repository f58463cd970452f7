"""Whether capsules represent the same concepts on two data sets (Duarte et al., Figure 7)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.stats import rankdata

from vtr_core.analysis.activations.profiles import ConceptProfiles


@dataclass(frozen=True)
class Agreement:
    """Rank correlations between the profiles of the capsules on one data set and on another."""

    shared_words: int
    same: Float64[np.ndarray, " capsules"]
    """Correlation of each capsule with itself; NaN where a profile is constant."""
    mean_same: float | None
    mean_other: float | None
    """Mean correlation of different capsules: the chance level."""
    recognised: float | None
    """Share of capsules whose nearest profile on the second set is their own; chance is 1 / capsules."""


def agreement(first: ConceptProfiles, second: ConceptProfiles) -> Agreement:
    """Spearman's ρ of signed information over the concepts of both sets, between every two capsules.

    Ties have their mean rank. Means leave out capsules with a constant profile, and are None where none is left. A tie
    for the nearest profile counts as not recognised.
    """
    words = sorted(set(first.words) & set(second.words))
    correlation = _correlation(_ranks(first, words), _ranks(second, words))
    same = np.diagonal(correlation).copy()
    defined = np.isfinite(same)
    if not defined.any():
        return Agreement(len(words), same, None, None, None)
    inside = correlation[np.ix_(defined, defined)]
    others = inside[~np.eye(len(inside), dtype=bool)]
    rivals = np.where(np.eye(len(inside), dtype=bool), -np.inf, inside).max(axis=1)
    return Agreement(
        shared_words=len(words),
        same=same,
        mean_same=float(same[defined].mean()),
        mean_other=float(others.mean()) if len(others) else None,
        recognised=float((same[defined] > rivals).mean()),
    )


def _ranks(profiles: ConceptProfiles, words: list[str]) -> Float64[np.ndarray, "words capsules"]:
    position = {word: number for number, word in enumerate(profiles.words)}
    return rankdata(profiles.signed[[position[word] for word in words]], axis=0)


def _correlation(
    first: Float64[np.ndarray, "words capsules"], second: Float64[np.ndarray, "words capsules"]
) -> Float64[np.ndarray, "capsules capsules"]:
    """Pearson's correlation of the columns of both, NaN for a constant column."""
    capsules = first.shape[1]
    if len(first) < 2:
        return np.full((capsules, second.shape[1]), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.corrcoef(first, second, rowvar=False)[:capsules, capsules:]
