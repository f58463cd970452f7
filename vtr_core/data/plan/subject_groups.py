"""Disjoint groups of subjects for training, validation (of checkpoint, threshold and margin) and test."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vtr_core.errors import ConfigError


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
