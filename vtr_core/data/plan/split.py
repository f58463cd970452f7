"""Splits by video: the assignment is a function of the video's id and the seed."""

import hashlib
import math
from collections.abc import Iterable, Mapping

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
