"""Localisation of a task's ordered steps in a video: the cheapest path through steps and background."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from vtr_core.metrics.relevance import MetricError

_STAY, _NEXT, _SKIP = 0, 1, 2
"""By how many states a path advances at a second; on a tie the smallest advance is taken."""


class OrderedSteps(NamedTuple):
    """The placement of K steps in T seconds, and its cost."""

    assignment: Bool[np.ndarray, "seconds steps"]
    """Each second shows at most one step."""
    cost: float
    """Sum of the costs of all seconds; infinite where the steps could not be placed."""


def ordered_steps(cost: ArrayLike, *, exactly_one: bool = True) -> OrderedSteps:
    """The assignment of steps to seconds, in the steps' order, with the least total of `cost`, (T, K).

    States 0 … 2K; even ones are background (cost 0), odd k is step (k + 1)/2. A path begins in state 0 before the first
    second. From k it may go to k + 1, from a step also to the next step k + 2, and it may stay in the background. With
    `exactly_one` it may not stay in a step, so every step takes exactly one second; without it every step takes one
    second or more in a row. It ends in the last step or in the background after it (Zhukov et al. 2019, inference).

    Ties: a path that ends in the last step is preferred to one that ends in the background; for each state, staying is
    preferred to coming from k − 1, and that to coming from k − 2. Sums are float64, the costs as they are given. T < K:
    no path places every step, so none is placed and the cost is infinite. K = 0 costs 0. Raises MetricError for a cost
    that is not finite, naming its position, or not a matrix.
    """
    costs = np.asarray(cost)
    if costs.ndim != 2 or costs.dtype.kind not in "fiub":
        raise MetricError(f"cost must be (seconds, steps) numbers; it is {costs.dtype} of shape {costs.shape}")
    if not np.isfinite(costs).all():
        second, step = np.argwhere(~np.isfinite(costs))[0]
        raise MetricError(f"the cost of step {step} at second {second} is {costs[second, step]}; it must be finite")
    assignments, totals = ordered_steps_of_many(costs[None].astype(np.float64), exactly_one)
    return OrderedSteps(assignments[0], float(totals[0]))


def ordered_steps_of_many(
    costs: Float[np.ndarray, "draws seconds steps"], exactly_one: bool
) -> tuple[Bool[np.ndarray, "draws seconds steps"], Float[np.ndarray, " draws"]]:
    """`ordered_steps` of several finite matrices at once: (assignments, total costs)."""
    draws, seconds, steps = costs.shape
    assignments = np.zeros(costs.shape, np.bool_)
    if steps == 0:
        return assignments, np.zeros(draws)
    if seconds < steps:
        return assignments, np.full(draws, np.inf)
    totals, came_from = _forward(costs, exactly_one)
    background, last_step = totals[:, -1], totals[:, -2]
    state = np.where(background < last_step, 2 * steps, 2 * steps - 1)
    every = np.arange(draws)
    for second in range(seconds - 1, -1, -1):
        shown = state % 2 == 1
        assignments[every[shown], second, state[shown] // 2] = True
        state = state - came_from[second, every, state]
    assert (state == 0).all(), "a path begins in state 0"
    return assignments, np.minimum(background, last_step)


def _forward(
    costs: Float[np.ndarray, "draws seconds steps"], exactly_one: bool
) -> tuple[Float[np.ndarray, "draws states"], Int[np.ndarray, "seconds draws states"]]:
    """The least cost of a path to each state after the last second, and its advance in states at each second."""
    draws, seconds, steps = costs.shape
    total = np.full((draws, 2 * steps + 1), np.inf)
    total[:, 0] = 0
    came_from = np.zeros((seconds, *total.shape), np.int8)
    for second in range(seconds):
        best = total.copy()
        if exactly_one:
            best[:, 1::2] = np.inf
        for rise, allowed in ((_NEXT, slice(1, None)), (_SKIP, slice(3, None, 2))):
            target, source = best[:, allowed], total[:, slice(allowed.start - rise, -rise, allowed.step)]
            better = source < target
            came_from[second, :, allowed][better] = rise
            target[better] = source[better]
        best[:, 1::2] += costs[:, second]
        total = best
    return total, came_from
