"""Losses by double loops over a similarity matrix of numbers or of scalar tensors, which makes them differentiable.

`negatives[i][j]`, true or false or a weight, is how much entry [i][j] counts in row i; `of_columns[i][j]` how much it
counts in column j, the same unless given. The diagonal counts 1 as a match.
"""

import math
from math import inf

import torch


def exp(value):
    return value.exp() if isinstance(value, torch.Tensor) else math.exp(value)


def log(value):
    return value.log() if isinstance(value, torch.Tensor) else math.log(value)


def weight(negatives, i, j):
    return 1.0 if negatives is None else float(negatives[i][j])


def log_softmax_at(values, index):
    return values[index] - log(sum(exp(value) for value in values))


def masked_margin_softmax(similarity, margins, negatives=None, of_columns=None):
    size = len(similarity)

    def logit(i, j, weights):
        if i == j:
            return similarity[i][i] - margins[i]
        found = weight(weights, i, j)
        return similarity[i][j] + log(found) if found else -inf

    of_columns = negatives if of_columns is None else of_columns
    rows = [-log_softmax_at([logit(i, j, negatives) for j in range(size)], i) for i in range(size)]
    columns = [-log_softmax_at([logit(i, j, of_columns) for i in range(size)], j) for j in range(size)]
    return sum(rows) / size + sum(columns) / size


def mil_nce(videos, texts, candidates, negatives=None, of_columns=None):
    size, losses = len(videos), []
    of_columns = negatives if of_columns is None else of_columns

    def score(i, text):
        return exp(sum(v * t for v, t in zip(videos[i], texts[text], strict=True)))

    def bag(i, j):
        return sum(score(i, text) for text in range(j * candidates, (j + 1) * candidates))

    for i in range(size):
        everything = 2 * bag(i, i)
        for j in range(size):
            if j != i:
                everything = everything + weight(negatives, i, j) * bag(i, j) + weight(of_columns, j, i) * bag(j, i)
        losses.append(-log(bag(i, i) / everything))
    return sum(losses) / size


def max_margin_ranking(similarity, margin, negatives=None, of_columns=None, at_matches=None):
    """`at_matches[i]`: the weight of diagonal entry i, in its row and in its column; 1 unless given."""
    size, total = len(similarity), 0.0
    of_columns = negatives if of_columns is None else of_columns
    at_matches = [1.0] * size if at_matches is None else at_matches
    for i in range(size):
        for j in range(size):
            of_row = at_matches[i] if i == j else weight(negatives, i, j)
            of_column = at_matches[i] if i == j else weight(of_columns, i, j)
            total = total + of_row * max(0.0, margin + similarity[i][j] - similarity[i][i])
            total = total + of_column * max(0.0, margin + similarity[i][j] - similarity[j][j])
    return total / size**2


def sigmoid_contrastive(similarity, scale, bias, negatives=None):
    size, total = len(similarity), 0.0
    for i in range(size):
        for j in range(size):
            sign = 1 if i == j else -1
            counts = 1.0 if i == j else weight(negatives, i, j)
            total = total + counts * log(1 + exp(-sign * (scale * similarity[i][j] + bias)))
    return total / size


def determinant(matrix):
    if len(matrix) == 1:
        return matrix[0][0]
    minors = [[row[:k] + row[k + 1 :] for row in matrix[1:]] for k in range(len(matrix))]
    return sum((-1) ** k * matrix[0][k] * determinant(minor) for k, minor in enumerate(minors))


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def negative_weights(clip, caption, video, same_video, hard_rate=None):
    """w[i][j] of the entry [i][j] in row i; `same_video` is "keep_all", "keep", "mask" or "weight"."""
    size = len(clip)
    weights = []
    for i in range(size):
        counts = [j == i or (clip[i] != clip[j] and caption[i] != caption[j]) for j in range(size)]
        if same_video == "mask":
            counts = [counts[j] and (j == i or video[i] != video[j]) for j in range(size)]
        if same_video == "keep_all":
            counts = [True] * size
        row = [1.0 if count else 0.0 for count in counts]
        same = sum(counts[j] and video[i] == video[j] for j in range(size))
        if same_video == "weight" and same < sum(counts):
            hard, easy = hard_rate * sum(counts) / same, (1 - hard_rate) * sum(counts) / (sum(counts) - same)
            row = [row[j] * (hard if video[i] == video[j] else easy) for j in range(size)]
        weights.append(row)
    return weights


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
