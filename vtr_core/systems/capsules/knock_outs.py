"""Test-time ablation of a capsule network's activations."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import log2
from typing import Any

from torch import nn

from vtr_core.analysis.activations.usage import clip_entropies
from vtr_core.nn.capsules.capsules import Capsules
from vtr_core.systems.capsules.model import CapsuleNet
from vtr_core.systems.knock_out import KnockOuts, Remark


def knock_outs(model: nn.Module) -> KnockOuts:
    """The ablation `activations` of a capsule network; none for its baselines."""
    return {"activations": partial(mean_activations, model)} if isinstance(model, CapsuleNet) else {}


@contextmanager
def mean_activations(model: CapsuleNet) -> Iterator[Remark]:
    """Context in which every activation is replaced by its batch mean, and so does not depend on the clip.

    Yields a function that reports the mean entropy of the replaced activations over all modalities.
    """
    entropies: list[float] = []

    def hook(module: nn.Module, given: tuple[Any, ...], found: Capsules) -> Capsules:  # noqa: ARG001
        if len(found.activations):
            entropies.append(mean_entropy(found))
        mean = found.activations.mean(dim=0, keepdim=True).expand_as(found.activations)
        return replace(found, activations=mean)

    handles = [routing.register_forward_hook(hook) for routing in model.routing.values()]
    try:
        yield lambda: _remark(entropies, log2(model.config.num_capsules))
    finally:
        for handle in handles:
            handle.remove()


def mean_entropy(capsules: Capsules) -> float:
    """Mean over rows of `clip_entropies`, in bits, as on the page of vtr explain --capsules."""
    return float(clip_entropies(capsules.activations.detach().float().cpu().numpy()).mean())


def _remark(entropies: list[float], most: float) -> str:
    if not entropies:
        return "every activation is its mean over the batch"
    mean = sum(entropies) / len(entropies)
    share = f" ({mean / most:.0%})" if most else ""
    return f"every activation is its mean over the batch; a clip's entropy was {mean:.2f} of {most:.2f} bits{share}"
