"""Contributions, causality, top-k similarity and matched mAP by loops over pairs and concepts."""

import math

import numpy as np

from tests.reference.ranking import mean_average_precision


def transformed(h, scale, shift, power, similarity):
    z = scale * (h - shift)
    if similarity == "jaccard":
        return (1 / (1 + math.exp(-z))) ** power
    return math.copysign(abs(z) ** power, z) if z else 0.0


def contributions(video, text, similarity):
    shared = [min(v, s) if similarity == "jaccard" else abs(v * s) for v, s in zip(video, text, strict=True)]
    total = sum(shared)
    return [value / total if total else 0.0 for value in shared]


def causality_at_k(video, text, k, similarity):
    return sum(sorted(contributions(video, text, similarity), reverse=True)[:k])


def jaccard(a, b):
    above = sum(min(x, y) for x, y in zip(a, b, strict=True))
    below = sum(max(x, y) for x, y in zip(a, b, strict=True))
    return above / below if below else 0.0


def cosine(a, b):
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0


def top_k_similarity(a, b, k, similarity):
    shares = contributions(a, b, similarity)
    kept = sorted(range(len(a)), key=lambda i: -shares[i])[:k]
    compare = jaccard if similarity == "jaccard" else cosine
    return compare([a[i] for i in kept], [b[i] for i in kept])


def matched_precisions(scores, caption_video):
    """mAP of captions and of the videos that have one."""
    videos = sorted(set(caption_video))
    there = [[video == own for video in range(len(scores[0]))] for own in caption_video]
    columns = [[row[video] for row in scores] for video in videos]
    back = [[own == video for own in caption_video] for video in videos]
    return mean_average_precision(scores, there, "expected"), mean_average_precision(columns, back, "expected")


def query_precisions(scores, caption_video):
    """Average precision of every caption, and of every video, all of which have one."""
    videos = range(len(scores[0]))
    captions = [
        mean_average_precision([row], [[video == own for video in videos]], "expected")
        for row, own in zip(scores, caption_video, strict=True)
    ]
    columns = [
        mean_average_precision([[row[v] for row in scores]], [[own == v for own in caption_video]], "expected")
        for v in videos
    ]
    return captions, columns


def bootstrap_low(differences, seed, resamples=1000):
    """The value below which 2.5 % of the resamples' means lie, between two neighbours in proportion."""
    count = len(differences)
    drawn = np.random.default_rng(seed).multinomial(count, [1 / count] * count, size=resamples)
    means = sorted(sum(n * d for n, d in zip(row, differences, strict=True)) / count for row in drawn)
    place = 0.025 * (resamples - 1)
    below = int(place)
    return means[below] + (place - below) * (means[below + 1] - means[below])
