"""Contributions, causality, top-k similarity and matched mAP by loops over pairs and concepts."""

import math

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
