"""Splits by video, and disjoint groups of subjects for training, validation and test."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vtr_core.errors import ConfigError

_TOLERANCE = 1e-6


def assign_splits(videos: Iterable[str], fractions: Mapping[str, float], seed: int = 0) -> dict[str, str]:
    """The split of each video id: a hash of (seed, id), uniform in [0, 1), falls into one of the fractions' intervals.

    A video keeps its split when others are added or removed, so the sizes are `fractions` in expectation only.
    Raises ConfigError unless the fractions are in [0, 1] and sum to 1.
    """
    _check(fractions)
    return {video: _interval(_position(video, seed), fractions) for video in videos}


def _check(fractions: Mapping[str, float]) -> None:
    shown = ", ".join(f"{name} {value:g}" for name, value in fractions.items()) or "none"
    if any(not 0 <= value <= 1 for value in fractions.values()):
        raise ConfigError(f"split fractions must be in [0, 1] (given: {shown})")
    if not math.isclose(sum(fractions.values()), 1.0, abs_tol=_TOLERANCE):
        raise ConfigError(f"split fractions must sum to 1, not {sum(fractions.values()):g} (given: {shown})")


def _position(video: str, seed: int) -> float:
    digest = hashlib.blake2b(f"{seed}\0{video}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) / 2**53


def _interval(position: float, fractions: Mapping[str, float]) -> str:
    chosen, edge = "", 0.0
    for name, value in fractions.items():
        if value > 0:
            chosen, edge = name, edge + value
        if chosen and position < edge:
            break
    return chosen


@dataclass(frozen=True)
class GroupSplit:
    """Disjoint subjects of one round for training, validation and test."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]

    def without_validation(self) -> "GroupSplit":
        """The split with the same test subjects and all others for training."""
        return GroupSplit((*self.train, *self.validation), (), self.test)


def held_out_groups(subjects: Sequence[str], size: int, seed: int) -> list[tuple[str, ...]]:
    """The subjects in the random order of `seed`, divided into groups of `size`; remaining subjects are in no group.

    Raises ConfigError for fewer than three groups, which test, validation and training need.
    """
    if size < 2 or len(subjects) // size < 3:
        raise ConfigError(
            f"{len(subjects)} subjects make {len(subjects) // max(1, size)} groups of {size}; at least 3 groups of 2 "
            "or more are needed, to test, to validate and to train with"
        )
    order = np.random.default_rng(seed).permutation(len(subjects)).tolist()
    return [tuple(subjects[i] for i in order[first : first + size]) for first in range(0, len(order) - size + 1, size)]


def group_split(subjects: Sequence[str], groups: Sequence[tuple[str, ...]], number: int) -> GroupSplit:
    """Group `number` for test, the next one, cyclically, for validation, and all other subjects for training."""
    test, validation = groups[number], groups[(number + 1) % len(groups)]
    return GroupSplit(tuple(s for s in subjects if s not in test and s not in validation), validation, test)


def folds(subjects: Sequence[str], count: int, seed: int) -> list[GroupSplit]:
    """`count` rounds of cross-validation by subject, without test subjects: every subject is in one validation set.

    Fold sizes differ by at most one. Raises ConfigError where a fold would have fewer than two subjects.
    """
    if count < 2 or len(subjects) // count < 2:
        raise ConfigError(f"{len(subjects)} subjects make no {count} folds of two or more; use fewer folds")
    order = np.random.default_rng(seed).permutation(len(subjects))
    parts = [{subjects[i] for i in part.tolist()} for part in np.array_split(order, count)]
    return [
        GroupSplit(tuple(s for s in subjects if s not in part), tuple(s for s in subjects if s in part), ())
        for part in parts
    ]
