"""Dual softmax, query bank and whole videos by loops, as their definitions read."""

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


def caption_average(scores, caption_videos, clip_videos):
    """Videos × videos, keys ascending: the mean over captions of the best clip."""
    queries, items = sorted(set(caption_videos)), sorted(set(clip_videos))
    out = np.zeros((len(queries), len(items)))
    for i, query in enumerate(queries):
        for j, item in enumerate(items):
            best = [
                max(value for value, clip in zip(row, clip_videos, strict=True) if clip == item)
                for row, caption in zip(scores, caption_videos, strict=True)
                if caption == query
            ]
            out[i, j] = sum(best) / len(best)
    return out
