"""Slow, obvious re-implementations for Siamese networks: routing, losses, verification."""

import math

import torch
from torch import Tensor


def contrastive(distances: list[float], different: list[int], margin: float) -> float:
    total = 0.0
    for d, y in zip(distances, different, strict=True):
        total += 0.5 * max(0.0, margin - d) if y else 0.5 * d
    return total


def double_margin(
    distances: list[float], different: list[int], margin_positive: float, margin_negative: float
) -> float:
    total = 0.0
    for d, y in zip(distances, different, strict=True):
        total += max(margin_positive - d, 0.0) ** 2 if y else max(0.0, d - margin_negative) ** 2
    return total


def agree(votes: Tensor, iterations: int, nonlinearity: str, over_outputs: bool, scale: float = 1.0) -> Tensor:
    """Routing of one image's votes (outputs, inputs, dim), with autograd through every round."""
    outputs, inputs, _ = votes.shape
    logits = torch.zeros(outputs, inputs, dtype=votes.dtype)
    poses = []
    for number in range(iterations):
        couplings = torch.softmax(logits, dim=0 if over_outputs else 1)
        poses = []
        for j in range(outputs):
            s = sum(couplings[j, i] * votes[j, i] for i in range(inputs))
            if nonlinearity == "tanh":
                poses.append(torch.tanh(s))
            else:
                length = (s * s).sum().clamp(min=1e-24).sqrt()
                poses.append(s / length * length**2 / (1 + length**2))
        if number < iterations - 1:
            logits = logits + torch.stack(
                [torch.stack([scale * (votes[j, i] @ poses[j]) for i in range(inputs)]) for j in range(outputs)]
            )
    return torch.stack(poses)


def batch_loss(vectors: Tensor, images: list[int], subjects: list[int], margin: float) -> Tensor:
    """Equation 4 of all pairs, matching and different ones with the same weight."""
    matching, different = [], []
    for i in range(len(vectors)):
        for j in range(i + 1, len(vectors)):
            d = ((vectors[i] - vectors[j]) ** 2).sum()
            if subjects[i] != subjects[j]:
                different.append(0.5 * torch.clamp(margin - d, min=0))
            elif images[i] != images[j]:
                matching.append(0.5 * d)
    return 0.5 * torch.stack(matching).mean() + 0.5 * torch.stack(different).mean()


def area(distances: list[float], different: list[bool]) -> float:
    score, count = 0.0, 0
    for a, y in zip(distances, different, strict=True):
        for b, x in zip(distances, different, strict=True):
            if y and not x:
                count += 1
                score += 1.0 if a > b else 0.5 if a == b else 0.0
    return score / count


def accuracy(distances: list[float], different: list[bool], threshold: float) -> float:
    return sum((d > threshold) == y for d, y in zip(distances, different, strict=True)) / len(distances)


def entropy(p: float) -> float:
    return -p * math.log(p) - (1 - p) * math.log(1 - p)
