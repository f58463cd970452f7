"""Capsules over a stream of clips: how each is used, its strongest clips, and a random sample."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64, UInt64
from scipy.stats import entropy


def priorities(clip_key: Int64[np.ndarray, " clips"], seed: int) -> UInt64[np.ndarray, " clips"]:
    """A pseudo-random number of each clip; the clips with the lowest ones are a uniform sample without replacement.

    splitmix64's finaliser of key + (seed + 1) · the golden-ratio increment (Steele et al. 2014), modulo 2⁶⁴.
    """
    increment = np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    mixed = clip_key.view(np.uint64) + increment
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def lowest(priority: UInt64[np.ndarray, " clips"], count: int) -> Int64[np.ndarray, " kept"]:
    """The positions of the `count` lowest priorities, or of all, ascending; ties go to the first."""
    return np.sort(np.argsort(priority, kind="stable")[:count]).astype(np.int64)


NOBODY = -1
"""The clip number of an empty slot."""


@dataclass(frozen=True)
class TopClips:
    """The strongest clips of each capsule so far, in descending order: row numbers and activations."""

    clip: Int64[np.ndarray, "places capsules"]
    activation: Float32[np.ndarray, "places capsules"]

    @classmethod
    def empty(cls, places: int, capsules: int) -> "TopClips":
        """An instance without clips, with `places` slots for each capsule."""
        return cls(np.full((places, capsules), NOBODY, np.int64), np.full((places, capsules), -np.inf, np.float32))

    def with_clips(
        self, clip: Int64[np.ndarray, " clips"], activation: Float32[np.ndarray, "clips capsules"]
    ) -> "TopClips":
        """The strongest clips among these and a later batch; of equal activations the earlier clip stays ahead.

        Each clip must be given once. Activations must be finite.
        """
        places = len(self.clip)
        clips = np.concatenate([self.clip, np.broadcast_to(clip[:, None], activation.shape)])
        values = np.concatenate([self.activation, activation])
        order = np.argsort(-values, axis=0, kind="stable")[:places]
        return TopClips(np.take_along_axis(clips, order, axis=0), np.take_along_axis(values, order, axis=0))

    def of(self, capsule: int) -> list[tuple[int, float]]:
        """(clip number, activation) of a capsule's strongest clips."""
        found = self.clip[:, capsule] != NOBODY
        return list(zip(self.clip[found, capsule].tolist(), self.activation[found, capsule].tolist(), strict=True))

    @property
    def numbers(self) -> set[int]:
        """All clips among the strongest of some capsule."""
        return set(self.clip[self.clip != NOBODY].tolist())


LEADING = 5
"""A capsule leads on a clip when it is among this many most active capsules."""
FLAT = 0.01
"""A capsule is flat when the standard deviation of its activation is less than this fraction of the mean."""


@dataclass(frozen=True)
class CapsuleUsage:
    """The usage of every capsule by one modality of one data set."""

    clips: int
    mean: Float64[np.ndarray, " capsules"]
    deviation: Float64[np.ndarray, " capsules"]
    """The population's, over clips."""
    led: Int64[np.ndarray, " capsules"]
    """Clips on which the capsule is among the `LEADING` strongest (half of the capsules, where there are fewer)."""

    entropy: float
    """Mean over clips of `clip_entropies`, in bits: how evenly a clip's activations are spread over the capsules."""

    @property
    def flat(self) -> Bool[np.ndarray, " capsules"]:
        """Whether a capsule's activation is nearly constant over the clips."""
        return self.deviation < FLAT * self.mean

    @property
    def dead(self) -> Bool[np.ndarray, " capsules"]:
        """Whether a capsule does not discriminate clips: it is flat, or never among the strongest."""
        return self.flat | (self.led == 0)


def clip_entropies(activations: Float32[np.ndarray, "clips capsules"]) -> Float64[np.ndarray, " clips"]:
    """The entropy of each clip's activations, normalised to the sum 1, in bits: log₂ capsules where all are equal.

    The entropy of the mean activations would not do: it is as large if every clip has one capsule of its own. 0 for a
    clip without any activation.
    """
    found: Float64[np.ndarray, " clips"] = entropy(activations.astype(np.float64), base=2, axis=1)
    return np.where(activations.sum(axis=1) > 0, found, 0.0)


class UsageMeter:
    """Running sums over batches of clips, in float64, shifted by the first clip against cancellation."""

    def __init__(self, capsules: int) -> None:
        self.clips = 0
        self._leading = max(1, min(LEADING, capsules // 2))
        self._origin = np.zeros(capsules)
        self._total = np.zeros(capsules)
        self._squares = np.zeros(capsules)
        self._led = np.zeros(capsules, np.int64)
        self._entropy = 0.0

    def add(self, activations: Float32[np.ndarray, "clips capsules"]) -> None:
        """Add a batch of clips. Of equally active capsules those with lower numbers lead."""
        if not len(activations):
            return
        if not self.clips:
            self._origin = activations[0].astype(np.float64)
        shifted = activations - self._origin
        self.clips += len(activations)
        self._total += shifted.sum(axis=0)
        self._squares += (shifted**2).sum(axis=0)
        self._entropy += float(clip_entropies(activations).sum())
        leaders = np.argsort(-activations, axis=1, kind="stable")[:, : self._leading]
        self._led += np.bincount(leaders.ravel(), minlength=len(self._led))

    def usage(self) -> CapsuleUsage:
        """The usage over all clips so far, at least one."""
        assert self.clips > 0
        shift = self._total / self.clips
        deviation = np.sqrt(np.maximum(self._squares / self.clips - shift**2, 0))
        return CapsuleUsage(self.clips, self._origin + shift, deviation, self._led.copy(), self._entropy / self.clips)
