"""Mutual information between a capsule being active and a concept being named."""

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64

from vtr_core.analysis.activations.concepts import ClipConcepts

PIECE = 1024
"""Clips at a time in the product of concepts and active capsules."""


def is_active(
    activations: Float32[np.ndarray, "clips capsules"], active_share: float
) -> Bool[np.ndarray, "clips capsules"]:
    """Whether a capsule is among its own strongest clips: the share `active_share` of them, at least one clip.

    Activations are a softmax over capsules, so a threshold common to all would compare capsules, not clips. Equal
    activations are treated alike: all that equal the last active one are active too, except where it is the capsule's
    least; then those above it are. So a capsule that never varies is never active.
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
    """The clips that name a concept while a capsule is active: the product of both 0/1 matrices, piece by piece."""
    counts = np.zeros((len(concepts.words), active.shape[1]), np.int64)
    for part, named in concepts.pieces(PIECE):
        counts += (named.T @ active[part].astype(np.float32)).astype(np.int64)
    return counts


def mutual_information(
    joint: Int64[np.ndarray, "words capsules"],
    named: Int64[np.ndarray, " words"],
    active: Int64[np.ndarray, " capsules"],
    clips: int,
) -> Float64[np.ndarray, "words capsules"]:
    """I(active; named) = Σ p(x, y) log₂ (p(x, y) / p(x) p(y)) over the four cells, in bits.

    The plug-in estimate: relative frequencies in place of probabilities, 0 log 0 = 0. Rounding never makes it negative.
    """
    total = np.zeros(joint.shape)
    for x_active in (True, False):
        for y_named in (True, False):
            rows = named if y_named else clips - named
            columns = active if x_active else clips - active
            cell = _cell(joint, named[:, None], active[None, :], clips, x_active, y_named)
            expected = np.outer(rows, columns) / clips
            ratio = np.divide(cell, expected, out=np.ones(cell.shape), where=cell > 0)
            total += cell / clips * np.log2(ratio)
    return np.maximum(total, 0)


def _cell(
    joint: np.ndarray, named: np.ndarray, active: np.ndarray, clips: int, x_active: bool, y_named: bool
) -> np.ndarray:
    match x_active, y_named:
        case True, True:
            return joint
        case True, False:
            return active - joint
        case False, True:
            return named - joint
        case _:
            return clips - named - active + joint


def lift(
    joint: Int64[np.ndarray, "words capsules"],
    named: Int64[np.ndarray, " words"],
    active: Int64[np.ndarray, " capsules"],
    clips: int,
) -> Float64[np.ndarray, "words capsules"]:
    """P(named | active) / P(named): above 1 the capsule goes with the concept, below 1 against it.

    1, neither, for a capsule that is never active.
    """
    expected = np.outer(named, active) / clips
    return np.divide(joint, expected, out=np.ones(joint.shape), where=expected > 0)
