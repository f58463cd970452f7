"""Calibration and per-tag precision by loops over samples and concepts."""

import numpy as np

from tests.reference.ranking import mean_average_precision


def expected_calibration_error(probability, labels, num_bins):
    entries = list(zip(np.ravel(probability), np.ravel(labels), strict=True))
    error = 0.0
    for b in range(num_bins):
        low, high = b / num_bins, (b + 1) / num_bins
        inside = [(p, y) for p, y in entries if low <= p < high or (b == num_bins - 1 and p == 1)]
        if inside:
            gap = np.mean([p for p, _ in inside]) - np.mean([y for _, y in inside])
            error += len(inside) / len(entries) * abs(gap)
    return error


def tag_precision(scores, present):
    found = []
    for column, hits in zip(np.transpose(scores), np.transpose(present), strict=True):
        found.append(mean_average_precision([column], [hits], "expected") if any(hits) else float("nan"))
    return found
