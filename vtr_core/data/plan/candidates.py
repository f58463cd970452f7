"""Candidate captions of a clip for MIL-NCE: those of the nearest clips of the same video."""

from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Int, Int32, Int64


def candidate_tokens(
    tokens: Int32[np.ndarray, "rows max_words"],
    video_key: Int64[np.ndarray, " rows"],
    start: Float[np.ndarray, " rows"],
    end: Float[np.ndarray, " rows"],
    extra: int,
) -> Int32[np.ndarray, "rows extra max_words"]:
    """The tokens of the `extra` captions of the same video that are nearest in time to each row (MIL-NCE's bags).

    The distance is that between the middles of clips, ties by row (Miech et al. 2020, section 3.1). Rows of a video
    must be adjacent, as in row groups. Captions without a known word are no candidates; where a video has too few, the
    row's own caption fills the bag, so that a bag is empty only where its own caption is.
    """
    chosen = nearest_rows(video_key, (start + end) / 2, (tokens != 0).any(axis=1), extra)
    return tokens[chosen]


def nearest_rows(
    video_key: Int64[np.ndarray, " rows"],
    middle: Float[np.ndarray, " rows"],
    usable: Bool[np.ndarray, " rows"],
    extra: int,
) -> Int[np.ndarray, "rows extra"]:
    """The `extra` usable other rows of each row's video that are nearest in time, padded by the row itself."""
    chosen = np.repeat(np.arange(len(video_key))[:, None], extra, axis=1)
    bounds = np.flatnonzero(np.diff(video_key, prepend=video_key[:1] - 1, append=video_key[-1:] - 1))
    for first, last in pairwise(bounds):
        distance = np.abs(middle[first:last, None] - middle[None, first:last])
        distance[:, ~usable[first:last]] = np.inf
        np.fill_diagonal(distance, np.inf)
        order = np.argsort(distance, axis=1, kind="stable")[:, :extra]
        found = np.isfinite(np.take_along_axis(distance, order, axis=1))
        own = chosen[first:last, : order.shape[1]]
        chosen[first:last, : order.shape[1]] = np.where(found, first + order, own)
    return chosen
