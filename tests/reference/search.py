"""Ranking by two spaces and its explanation, one video and one concept at a time."""

import math


def sharpened(scores, scale, shift, power, similarity):
    found = []
    for h in scores:
        z = scale * (h - shift)
        if similarity == "jaccard":
            found.append((1 / (1 + math.exp(-z))) ** power)
        else:
            found.append(math.copysign(abs(z) ** power, z))
    return found


def compared(a, b, similarity):
    if similarity == "jaccard":
        union = sum(max(x, y) for x, y in zip(a, b, strict=True))
        return sum(min(x, y) for x, y in zip(a, b, strict=True)) / union if union else 0.0
    product = sum(x * y for x, y in zip(a, b, strict=True))
    return product / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def rescaled(scores):
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) for score in scores]


def hybrid_scores(latent_query, latent_videos, concept_query, concept_videos, weight, transform):
    """Scores of all videos for one query, each space rescaled over the videos; transform: (a, b, p, similarity)."""
    latent = rescaled([compared(latent_query, video, "cosine") for video in latent_videos])
    query = sharpened(concept_query, *transform)
    concept = rescaled([compared(query, sharpened(video, *transform), transform[3]) for video in concept_videos])
    return [weight * x + (1 - weight) * y for x, y in zip(latent, concept, strict=True)]


def shares(video, query, similarity):
    if similarity == "jaccard":
        common = [min(x, y) for x, y in zip(video, query, strict=True)]
    else:
        common = [abs(x * y) for x, y in zip(video, query, strict=True)]
    return [value / sum(common) for value in common]
