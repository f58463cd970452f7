"""Step localisation by trying every path, and its figures by loops over seconds."""

import math
from itertools import product


def paths(seconds, steps, exactly_one):
    """Every sequence of states, one a second, that the rules allow."""
    last = 2 * steps
    for path in product(range(last + 1), repeat=seconds):
        before, allowed = 0, True
        for state in path:
            is_step = state % 2 == 1
            stays = state == before and not (is_step and exactly_one)
            skips = before % 2 == 1 and state == before + 2
            allowed &= stays or state == before + 1 or skips
            before = state
        if allowed and before >= last - 1:
            yield path


def path_cost(path, cost):
    return sum(cost[second][state // 2] for second, state in enumerate(path) if state % 2 == 1)


def ordered_steps(cost, steps, exactly_one):
    """(path, total) of the cheapest path.

    Of equally cheap ones, the one that ends in the last step; then, from the last second backwards, the one that was
    in the highest state, which is to have stayed, or to have come from the nearest.
    """
    best = None
    for path in paths(len(cost), steps, exactly_one):
        total = path_cost(path, cost)
        key = (total, path[-1] if path else 0, tuple(-state for state in reversed(path)))
        if best is None or key < best[0]:
            best = (key, path, total)
    return (None, math.inf) if best is None else best[1:]


def placed(path, steps):
    """The seconds of every step."""
    return [[t for t, state in enumerate(path or ()) if state == 2 * k + 1] for k in range(steps)]


def hits(seconds_of, labels, segments):
    """(hits, total) with segments (first, end, label)."""
    found = total = 0
    for seconds, label in zip(seconds_of, labels, strict=True):
        truth = [t for first, end, name in segments for t in range(first, end) if name == label]
        if any(name == label for _, _, name in segments):
            total += 1
            found += bool(seconds) and seconds[(len(seconds) - 1) // 2] in truth
    return found, total


def segment_overlap(seconds_of, labels, segments):
    """(IoD, IoU) of the segment reading."""
    iods, ious = [], []
    for first, end, name in segments:
        best_iod = best_iou = 0.0
        for seconds, label in zip(seconds_of, labels, strict=True):
            if label == name and seconds:
                common = sum(first <= t < end for t in seconds)
                low, high = min(first, *seconds), max(end, *(t + 1 for t in seconds))
                best_iod = max(best_iod, common / len(seconds))
                best_iou = max(best_iou, common / (high - low))
        iods.append(best_iod)
        ious.append(best_iou)
    return sum(iods) / len(iods), sum(ious) / len(ious)
