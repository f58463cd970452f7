"""Losses by double loops over a similarity matrix."""

from math import exp, inf, log


def log_softmax_at(values, index):
    return values[index] - log(sum(exp(value) for value in values))


def masked_margin_softmax(similarity, margins, negatives=None):
    size = len(similarity)

    def logit(i, j):
        if i == j:
            return similarity[i][i] - margins[i]
        return similarity[i][j] if negatives is None or negatives[i][j] else -inf

    rows = [-log_softmax_at([logit(i, j) for j in range(size)], i) for i in range(size)]
    columns = [-log_softmax_at([logit(i, j) for i in range(size)], j) for j in range(size)]
    return sum(rows) / size + sum(columns) / size


def mil_nce(videos, texts, candidates, negatives=None):
    size, losses = len(videos), []

    def score(i, text):
        return exp(sum(v * t for v, t in zip(videos[i], texts[text], strict=True)))

    for i in range(size):
        own = range(i * candidates, (i + 1) * candidates)
        positive = sum(score(i, text) for text in own)
        everything = 0.0
        for j in range(size):
            if j == i or negatives is None or negatives[i][j]:
                everything += sum(score(i, text) for text in range(j * candidates, (j + 1) * candidates))
            if j == i or negatives is None or negatives[j][i]:
                everything += sum(score(j, text) for text in own)
        losses.append(-log(positive / everything))
    return sum(losses) / size


def max_margin_ranking(similarity, margin, negatives=None):
    size, total = len(similarity), 0.0
    for i in range(size):
        for j in range(size):
            if i == j or negatives is None or negatives[i][j]:
                total += max(0.0, margin + similarity[i][j] - similarity[i][i])
                total += max(0.0, margin + similarity[i][j] - similarity[j][j])
    return total / size**2


def sigmoid_contrastive(similarity, scale, bias, negatives=None):
    size, total = len(similarity), 0.0
    for i in range(size):
        for j in range(size):
            if i == j or negatives is None or negatives[i][j]:
                sign = 1 if i == j else -1
                total += log(1 + exp(-sign * (scale * similarity[i][j] + bias)))
    return total / size


def generalized_jaccard(a, b):
    rows = []
    for x in a:
        row = []
        for y in b:
            least = sum(min(p, q) for p, q in zip(x, y, strict=True))
            most = sum(max(p, q) for p, q in zip(x, y, strict=True))
            row.append(least / most if most else 0.0)
        rows.append(row)
    return rows
