"""Dual softmax and query bank by loops, as their definitions read."""

import numpy as np


def dual_softmax(scores, temperature):
    """S_ij times its share among all queries."""
    out = np.zeros(np.shape(scores))
    for j in range(len(scores[0])):
        total = sum(np.exp(row[j] / temperature) for row in scores)
        for i, row in enumerate(scores):
            out[i, j] = row[j] * np.exp(row[j] / temperature) / total
    return out


def query_bank(scores, bank, temperature):
    """The dynamic inverted softmax: rows whose best item is the best of some caption of the bank are normalised."""
    hubs = {int(np.argmax(row)) for row in bank}
    out = np.array(scores, np.float64)
    for i, row in enumerate(scores):
        if int(np.argmax(row)) in hubs:
            for j, value in enumerate(row):
                out[i, j] = np.exp(value / temperature) / sum(np.exp(other[j] / temperature) for other in bank)
    return out
