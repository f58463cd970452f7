"""CLIP4Clip's training step (Luo et al. 2021), number by number: clipping, BERT's Adam, its schedule."""

import math
from collections.abc import Sequence


def rate(learning_rate: float, step: int, total: int, share: float) -> float:
    """Of step `step`, counted from 0: up from 0 over the share, then half a cosine of all steps."""
    progress = step / total
    if progress < share:
        return learning_rate * progress / share
    return learning_rate * 0.5 * (1.0 + math.cos(math.pi * progress))


def clipped(values: Sequence[float], most: float) -> list[float]:
    """The values, scaled down where their norm is above `most`; 1e-6 as in torch."""
    norm = math.sqrt(sum(value * value for value in values))
    return [value * min(1.0, most / (norm + 1e-6)) for value in values]


class Parameter:
    """The numbers of one parameter, with the means of their gradients and squared gradients."""

    def __init__(self, values: Sequence[float], decay: float) -> None:
        self.values, self.decay = list(values), decay
        self.mean, self.square = [0.0] * len(values), [0.0] * len(values)

    def step(self, gradients: Sequence[float], rate: float, betas: tuple[float, float], epsilon: float) -> None:
        """One step of BERT's Adam, without bias corrections."""
        for i, gradient in enumerate(gradients):
            self.mean[i] = betas[0] * self.mean[i] + (1 - betas[0]) * gradient
            self.square[i] = betas[1] * self.square[i] + (1 - betas[1]) * gradient**2
            update = self.mean[i] / (math.sqrt(self.square[i]) + epsilon)
            self.values[i] -= rate * (update + self.decay * self.values[i])


def train(
    parameters: Sequence[Parameter],
    gradients: Sequence[Sequence[Sequence[float]]],
    learning_rate: float,
    share: float,
    most: float,
    epsilon: float,
) -> None:
    """All steps: the gradient as a whole is clipped, then that of each parameter, both to the norm `most`."""
    for step, given in enumerate(gradients):
        whole = clipped([value for one in given for value in one], most)
        for parameter, one in zip(parameters, given, strict=True):
            own, whole = whole[: len(one)], whole[len(one) :]
            now = rate(learning_rate, step, len(gradients), share)
            parameter.step(clipped(own, most), now, (0.9, 0.98), epsilon)
