"""Retrieval metrics by loops over queries and sorted lists, ties by trying every order."""

from itertools import permutations

import numpy as np


def better_and_tied(scores, relevant):
    """(items above the best relevant one, irrelevant items exactly at it), for one query."""
    best = max(score for score, hit in zip(scores, relevant, strict=True) if hit)
    better = sum(score > best for score in scores)
    tied = sum(score == best and not hit for score, hit in zip(scores, relevant, strict=True))
    return better, tied


def recall(similarity, relevant, k, ties):
    values = []
    for scores, hits in zip(similarity, relevant, strict=True):
        better, tied = better_and_tied(scores, hits)
        if ties == "expected":
            values.append(min(max((k - better) / (tied + 1), 0), 1))
        elif ties == "optimistic":
            values.append(float(better < k))
        else:
            values.append(float(better + tied < k))
    return sum(values) / len(values)


def ranks(similarity, relevant, ties):
    values = []
    for scores, hits in zip(similarity, relevant, strict=True):
        better, tied = better_and_tied(scores, hits)
        values.append(better + 1 + {"expected": tied / 2, "optimistic": 0, "pessimistic": tied}[ties])
    return values


def average_precision(hits_in_order):
    """AP of one ranked list of booleans."""
    found, precisions = 0, []
    for position, hit in enumerate(hits_in_order, start=1):
        if hit:
            found += 1
            precisions.append(found / position)
    return sum(precisions) / len(precisions)


def orders(scores, relevant):
    """Every ranking of one query that sorts by score, as lists of booleans."""
    lists = [[]]
    for score in sorted(set(scores), reverse=True):
        group = [hit for value, hit in zip(scores, relevant, strict=True) if value == score]
        lists = [before + list(order) for before in lists for order in permutations(group)]
    return lists


def mean_average_precision(similarity, relevant, ties):
    pick = {"expected": np.mean, "optimistic": max, "pessimistic": min}[ties]
    values = [
        pick([average_precision(order) for order in orders(list(scores), list(hits))])
        for scores, hits in zip(similarity, relevant, strict=True)
    ]
    return sum(values) / len(values)
