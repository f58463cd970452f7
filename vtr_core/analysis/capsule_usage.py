"""How capsules are used by clips: means, entropies, dead capsules; and a random sample of clips."""

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
    bits: Float64[np.ndarray, " clips"] = entropy(activations.astype(np.float64), base=2, axis=1)
    return np.where(activations.sum(axis=1) > 0, bits, 0.0)


def capsule_usage(activations: Float32[np.ndarray, "clips capsules"]) -> CapsuleUsage:
    """The usage over all clips, at least one. Of equally active capsules those with lower numbers lead."""
    clips, capsules = activations.shape
    leaders = np.argsort(-activations, axis=1, kind="stable")[:, : max(1, min(LEADING, capsules // 2))]
    exact = activations.astype(np.float64)
    led = np.bincount(leaders.ravel(), minlength=capsules)
    return CapsuleUsage(clips, exact.mean(axis=0), exact.std(axis=0), led, float(clip_entropies(activations).mean()))
