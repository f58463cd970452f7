"""What a training step of a preset costs, counted on its model: operations, and the bytes that workers exchange."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.training_step import INPUTS, objective_of, random_clips
from vtr_core.config.override import override
from vtr_core.config.settings import ModelInputs
from vtr_core.data.batches import ClipBatch
from vtr_core.losses.objective import Share
from vtr_core.nn.embeddings import Embeddings
from vtr_core.run.build import build_model
from vtr_core.run.config import TrainConfig


@dataclass(frozen=True)
class Feeding:
    """Measured by benchmarks/feeding."""

    clips_per_core_s: float
    """Clips per second to one train worker by one reading CPU of Ray."""
    row_bytes: float
    """Bytes of shards per clip."""
    rows_read_per_row: float
    """Rows read for each that is delivered."""
    source: str
    """The command that measured it, and where."""


@dataclass(frozen=True)
class StepCost:
    """Counted on the model of a preset."""

    preset: str
    batch: int
    """Clips of the preset's global batch."""
    flops_per_clip: float
    """Forward and backward pass of the model."""
    loss_flops_per_pair: float
    """Forward and backward pass of the loss, for each pair of a worker's own clip and a clip of the whole batch."""
    gradient_bytes: int
    """What DDP averages: one float32 for every trained parameter."""
    checkpoint_bytes: int
    """Weights and Adam's two moments."""
    vector_bytes: int
    """Of a clip's embeddings in all modalities: what `gather_embeddings` gathers with gradient."""
    label_bytes: int
    """Of a clip's presence and keys, which are gathered too."""


def feeding(figures: Mapping[str, Any]) -> Feeding:
    """The figures of feeding.json that a projection needs; the rate is the median over the rounds."""
    rounds = figures["contestants"]["ours, 1"]
    rates = [sum(timing["rows"] / timing["seconds"] for timing in found["timings"]) for found in rounds]
    source = f"{figures['command']} on {figures['device']}"
    return Feeding(median(rates), figures["row_bytes"], figures["rows_read_per_row"], source)


def sampled(found: Feeding, sampling: Mapping[str, Any], clips: float) -> Feeding:
    """The same of videos with so many clips, of which a batch takes some but whole row groups are read.

    `sampling`: the figures of sampling.json, between whose costs of a clip those of other numbers are interpolated.
    """
    read = max(1.0, clips / sampling["clips_per_video"])
    rows = sorted(sampling["rows"], key=lambda row: row["rows_read_per_row"])
    costs = [row["microseconds"]["row groups"] for row in rows]
    slower = np.interp([read, found.rows_read_per_row], [row["rows_read_per_row"] for row in rows], costs)
    rate = found.clips_per_core_s * float(slower[1] / slower[0])
    return replace(found, clips_per_core_s=rate, rows_read_per_row=read)


def step_cost(config: TrainConfig, inputs: ModelInputs = INPUTS, clips: int = 8) -> StepCost:
    """Count one step of `clips` clips, in this process; a model's operations are in proportion to its clips.

    Only matrix products, convolutions and attention count, as everywhere (torch.utils.flop_counter).
    """
    model_config = override(config, {"model.inputs": inputs.model_dump()}).model
    torch.manual_seed(0)
    model = build_model(model_config, torch.randn(inputs.num_words, inputs.word_dim).numpy())
    batch = _with_inputs(random_clips(clips, torch.device("cpu")), inputs)
    with FlopCounterMode(display=False) as counter:
        embeddings = model(batch)
        torch.stack([vectors.square().sum() for vectors in embeddings.vectors.values()]).sum().backward()
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    state = sum(tensor.nbytes for tensor in model.state_dict().values())
    keys = torch.stack([batch.clip_key, batch.video_key, batch.caption_key], dim=1)
    return StepCost(
        preset=config.preset,
        batch=config.batch.rows,
        flops_per_clip=counter.get_total_flops() / clips,
        loss_flops_per_pair=_loss_flops_per_pair(config, embeddings, batch),
        gradient_bytes=4 * trained,
        checkpoint_bytes=state + 8 * trained,
        vector_bytes=_row_bytes(embeddings.vectors.values()),
        label_bytes=len(embeddings.present) + _row_bytes([keys]),
    )


def _loss_flops_per_pair(config: TrainConfig, embeddings: Embeddings, batch: ClipBatch) -> float:
    """Of a share of half the rows: a share's rows and columns are multiplied apart, as with any number of workers."""
    vectors = {name: values.detach().requires_grad_() for name, values in embeddings.vectors.items()}
    share = Share(0, 2)
    with FlopCounterMode(display=False) as counter:
        losses = objective_of(config)(replace(embeddings, vectors=vectors), batch.keys, 0, share)
        losses.total.backward()
    return counter.get_total_flops() / (len(share.rows(batch.rows)) * batch.rows)


def _row_bytes(tensors: Sequence[Tensor] | Any) -> int:
    return sum(math.prod(tensor.shape[1:]) * tensor.element_size() for tensor in tensors)


def _with_inputs(batch: ClipBatch, inputs: ModelInputs) -> ClipBatch:
    """`batch` cut to other dimensions and words."""
    features = {name: batch.features[name][:, :dim] for name, dim in inputs.features.items()}
    tokens = torch.where(batch.tokens > 0, (batch.tokens - 1) % max(inputs.num_words, 1) + 1, 0)
    return replace(batch, features=features, tokens=tokens[:, : inputs.max_words])
