"""The losses of granularity bias, pair by pair, with angles."""

import math
from collections.abc import Callable, Sequence

Matrix = Sequence[Sequence[float]]


def softmax_loss(positive: float, others: Sequence[float]) -> float:
    return -math.log(math.exp(positive) / (math.exp(positive) + sum(math.exp(one) for one in others)))


def counted(kept: Callable[[int, int], bool] | None, i: int, j: int) -> bool:
    return i != j and (kept is None or kept(i, j))


def bias(cosines: Matrix, temperature: float, kept: Callable[[int, int], bool] | None = None) -> float:
    n = len(cosines)
    return (
        sum(
            softmax_loss(
                cosines[i][i] / temperature, [cosines[i][j] / temperature for j in range(n) if counted(kept, i, j)]
            )
            for i in range(n)
        )
        / n
    )


def margin(
    cosines: Matrix, bias_cosine: Sequence[float], temperature: float, kept: Callable[[int, int], bool] | None = None
) -> float:
    n, total = len(cosines), 0.0
    for i in range(n):
        angle = math.acos(max(-1.0, min(1.0, cosines[i][i])))
        moved = math.cos(angle + min(math.acos(max(-1.0, min(1.0, bias_cosine[i]))), math.pi - angle))
        others = [cosines[i][j] / temperature for j in range(n) if counted(kept, i, j)]
        total += softmax_loss(moved / temperature, others)
    return total / n


def published(cosines: Matrix, product: Sequence[float], temperature: float) -> float:
    """BC loss: the margin 1 − σ(product), and a denominator without it."""
    n, total = len(cosines), 0.0
    for i in range(n):
        moved = math.cos(math.acos(cosines[i][i]) + 1 - 1 / (1 + math.exp(-product[i])))
        total -= math.log(math.exp(moved / temperature) / sum(math.exp(cosines[i][j] / temperature) for j in range(n)))
    return total / n


def fusion(scores: Matrix, temperature: float) -> float:
    turned = [list(column) for column in zip(*scores, strict=True)]
    return (bias(scores, temperature) + bias(turned, temperature)) / 2
