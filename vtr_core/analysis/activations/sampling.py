"""A random sample of clips that depends on the seed and the clips alone, not on their order or batches."""

import numpy as np
from jaxtyping import Int64, UInt64


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
