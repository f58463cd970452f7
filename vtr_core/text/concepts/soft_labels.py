"""Soft concept labels of a video, from the share of its captions that mention each concept."""

import numpy as np
from jaxtyping import Float32, Int64


def soft_labels(
    row: Int64[np.ndarray, " entries"],
    concept: Int64[np.ndarray, " entries"],
    count: Int64[np.ndarray, " entries"],
    largest: Int64[np.ndarray, " rows"],
    num_concepts: int,
) -> Float32[np.ndarray, "rows num_concepts"]:
    """The labels of videos as a dense matrix: y[v, i] = count[v, i] / largest[v] (Dong et al., TPAMI 2021, sec. 3.3).

    Entry e says that `count[e]` captions of video `row[e]` mention concept `concept[e]`, each pair at most once.
    largest: the largest count of each video over *all* its concepts, those outside the vocabulary included, so that
    the labels of a video may all be below 1. Concepts from `num_concepts` on are left out; a video without concepts
    has zeros.
    """
    labels = np.zeros((len(largest), num_concepts), np.float32)
    inside = concept < num_concepts
    labels[row[inside], concept[inside]] = count[inside] / largest[row[inside]]
    return labels
