"""Mutual information between a capsule's activity and the naming of a concept."""

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64
from scipy.special import rel_entr

from vtr_core.analysis.activations.concepts import ClipConcepts


def is_active(
    activations: Float32[np.ndarray, "clips capsules"], active_share: float
) -> Bool[np.ndarray, "clips capsules"]:
    """Whether a clip is among a capsule's own strongest ones: the share `active_share` of all clips, at least one.

    Activations are a softmax over capsules, so a threshold common to all would compare capsules, not clips. Ties are
    treated alike: all clips that equal the weakest active one are active too, unless that value is the capsule's
    minimum; then only the clips above it are. So a capsule with constant activation is never active.
    """
    clips = len(activations)
    if not clips:
        return np.zeros(activations.shape, np.bool_)
    wanted = max(1, int(active_share * clips))
    last = np.partition(activations, clips - wanted, axis=0)[clips - wanted]
    return np.where(last > activations.min(axis=0), activations >= last, activations > last)


def joint_counts(
    concepts: ClipConcepts, active: Bool[np.ndarray, "clips capsules"]
) -> Int64[np.ndarray, "words capsules"]:
    """The number of clips that name a concept while a capsule is active: the product of both 0/1 matrices."""
    return concepts.named.T @ active.astype(np.int64)


def mutual_information(
    joint: Int64[np.ndarray, "words capsules"],
    named: Int64[np.ndarray, " words"],
    active: Int64[np.ndarray, " capsules"],
    clips: int,
) -> Float64[np.ndarray, "words capsules"]:
    """I(active; named) = Σ p(x, y) log₂ (p(x, y) / p(x) p(y)) over the four cells, in bits.

    The plug-in estimate: relative frequencies in place of probabilities, 0 log 0 = 0. Rounding never makes it negative.
    """
    rows, columns = named[:, None], active[None, :]
    cells = (
        (joint, rows, columns),
        (rows - joint, rows, clips - columns),
        (columns - joint, clips - rows, columns),
        (clips - rows - columns + joint, clips - rows, clips - columns),
    )
    nats = sum(rel_entr(cell / clips, row * column / clips**2) for cell, row, column in cells)
    return np.maximum(nats / np.log(2), 0)


def lift(
    joint: Int64[np.ndarray, "words capsules"],
    named: Int64[np.ndarray, " words"],
    active: Int64[np.ndarray, " capsules"],
    clips: int,
) -> Float64[np.ndarray, "words capsules"]:
    """P(named | active) / P(named): above 1 for a positive association, below 1 for a negative one.

    1 for a capsule that is never active.
    """
    expected = np.outer(named, active) / clips
    return np.divide(joint, expected, out=np.ones(joint.shape), where=expected > 0)
