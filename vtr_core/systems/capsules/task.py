"""`Implementation` of the capsule network and its baselines, and knock-outs of its activations."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import log2
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from vtr_core.analysis.concept_profiles import clip_entropies
from vtr_core.data.batches import ClipBatch
from vtr_core.nn.capsules.dynamic_routing import Capsules
from vtr_core.nn.embeddings import TEXT
from vtr_core.systems.capsules.activation_report import responses
from vtr_core.systems.capsules.activations import ACTIVATIONS
from vtr_core.systems.capsules.config import CapsuleNetConfig, JointSpaceSettings
from vtr_core.systems.capsules.initialization import build
from vtr_core.systems.capsules.model import CapsuleNet
from vtr_core.systems.clip_space import CLIP_SPACE, clip_task, predict, signature
from vtr_core.systems.implementation import Implementation
from vtr_core.systems.loaded_model import KnockOuts, Remark


def knock_outs(model: nn.Module) -> KnockOuts:
    """The ablation `activations` of a capsule network; none for its baselines."""
    return {"activations": partial(mean_activations, model)} if isinstance(model, CapsuleNet) else {}


@contextmanager
def mean_activations(model: CapsuleNet) -> Iterator[Remark]:
    """Context in which every activation is replaced by its batch mean, and so does not depend on the clip.

    Means are over the rows that have the modality. Yields a function that reports the mean entropy of their activations
    over all modalities.
    """
    entropies: list[float] = []
    present: deque[Bool[Tensor, " rows"]] = deque()
    """Of the batch, one a modality that is not routed yet."""

    def begin(module: nn.Module, inputs: tuple[ClipBatch]) -> None:  # noqa: ARG001
        present.clear()
        present.extend(_present(name, inputs[0]) for name in model.inputs.dims)

    def average(module: nn.Module, inputs: tuple[Any, ...], capsules: Capsules) -> Capsules:  # noqa: ARG001
        rows = present.popleft()
        if not rows.any():
            return capsules
        known = Capsules(capsules.poses[rows], capsules.activations[rows])
        entropies.append(mean_entropy(known))
        mean = known.activations.mean(dim=0, keepdim=True).expand_as(capsules.activations)
        return replace(capsules, activations=mean)

    handles = [model.inputs.register_forward_pre_hook(begin)]
    handles += [routing.register_forward_hook(average) for routing in model.routing.values()]
    try:
        yield lambda: _remark(entropies, log2(model.config.num_capsules))
    finally:
        for handle in handles:
            handle.remove()


def _present(name: str, batch: ClipBatch) -> Bool[Tensor, " rows"]:
    """The rows of a modality's vectors that have it; those of text are in the order of `captions`."""
    if name != TEXT:
        return batch.present[name]
    extra = 0 if batch.candidate_tokens is None else batch.candidate_tokens.shape[1]
    return torch.cat([batch.text_present, batch.text_present.repeat_interleave(extra)])


def mean_entropy(capsules: Capsules) -> float:
    """Mean over rows of `clip_entropies`, in bits, as on the page of vtr explain --capsules."""
    return float(clip_entropies(capsules.activations.detach().float().cpu().numpy()).mean())


def _remark(entropies: list[float], most: float) -> str:
    if not entropies:
        return "every activation is its mean over the batch"
    mean = sum(entropies) / len(entropies)
    share = f" ({mean / most:.0%})" if most else ""
    return f"every activation is its mean over the batch; a clip's entropy was {mean:.2f} of {most:.2f} bits{share}"


def _compiles(config: JointSpaceSettings) -> bool:
    """The capsule network with routing by self-attention; other routings and the baselines were never compared, and a
    pretrained encoder is no part of a graph.
    """
    capsules = isinstance(config, CapsuleNetConfig) and config.routing.kind == "self_attention"
    return capsules and config.words.encoder is None


IMPLEMENTATION = Implementation(
    build=build,
    task=clip_task,
    predict=predict,
    signature=signature,
    retrieval=CLIP_SPACE,
    outputs={"activations": ACTIVATIONS},
    responses=responses,
    compiles=_compiles,
    knock_outs=knock_outs,
)
