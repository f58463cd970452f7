"""One training step of a model on random clips: its time, its memory at the peak, its operations and the bytes sent."""

import json
import math
import os
import resource
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.machine import processor
from vtr_core.config.losses import MaskedMarginSoftmaxConfig, ObjectiveConfig
from vtr_core.config.override import ModelInputs, override
from vtr_core.config.run import ModelConfig
from vtr_core.data.batches import ClipBatch
from vtr_core.losses.contrastive import build_objective
from vtr_core.losses.objective import Objective, Share
from vtr_core.nn.embeddings import Embeddings
from vtr_core.run.build import build_model
from vtr_core.run.config import TrainConfig

INPUTS = ModelInputs(features={"video": 4096, "audio": 1024}, num_words=10_000, word_dim=300, max_words=20)
"""HowTo100M's features and word vectors as the capsule paper has them."""


def chosen_device(name: Literal["auto", "cpu", "cuda"]) -> torch.device:
    """`auto`: the GPU where there is one. A CPU gets one thread: processor time would count that threads wait.

    Raises SystemExit for a GPU that is not there.
    """
    device = torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")
    if name == "cuda" and device.type != "cuda":
        raise SystemExit("--device cuda: torch sees no GPU here; use --device cpu")
    if device.type == "cpu":
        torch.set_num_threads(1)
    return device


def device_name(device: torch.device) -> str:
    """The GPU, or the processor and torch's threads."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{processor()}, {torch.get_num_threads()} thread{'s' * (torch.get_num_threads() > 1)}"


class Step(Protocol):
    """Something that is timed, and whose memory is measured."""

    def __call__(self) -> None:
        """Do it once."""

    def held_bytes(self) -> int:
        """The bytes that are there between two calls."""


def objective_of(config: TrainConfig) -> Objective:
    """The loss of a configuration of one joint space."""
    assert isinstance(config.loss, ObjectiveConfig)
    return build_objective(config.loss)


class TrainingStep:
    """Forward pass, loss over all pairs of modalities, backward pass, Adam; bf16 autocast on a GPU, else float32."""

    def __init__(self, config: ModelConfig, batch: ClipBatch) -> None:
        torch.manual_seed(0)
        device = batch.tokens.device
        self._batch = batch
        self._model = build_model(config, torch.randn(INPUTS.num_words, INPUTS.word_dim).numpy()).to(device)
        self._optimizer = torch.optim.Adam([p for p in self._model.parameters() if p.requires_grad], 1e-3)
        self._objective = build_objective(MaskedMarginSoftmaxConfig())

    def __call__(self) -> None:
        """One step."""
        device = self._batch.tokens.device.type
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            embeddings = self._model(self._batch)
        loss = self._objective(embeddings, self._batch.keys, 0).total
        loss.backward()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)

    def held_bytes(self) -> int:
        """What is there between two steps: weights and Adam's moments."""
        states = [value for state in self._optimizer.state.values() for value in state.values()]
        tensors = [
            *self._model.parameters(),
            *self._model.buffers(),
            *(v for v in states if isinstance(v, torch.Tensor)),
        ]
        return sum(tensor.nbytes for tensor in tensors)


def random_clips(rows: int, device: torch.device) -> ClipBatch:
    """Clips, four of each video, of 5 to 20 words; features never negative and of length 1, as pooled ones are."""
    generator = torch.Generator().manual_seed(0)
    features = {
        name: (torch.randn(rows, dim, generator=generator).relu() * (2 / dim) ** 0.5).half()
        for name, dim in INPUTS.features.items()
    }
    tokens = torch.randint(1, INPUTS.num_words + 1, (rows, INPUTS.max_words), generator=generator)
    lengths = torch.randint(5, INPUTS.max_words + 1, (rows, 1), generator=generator)
    return ClipBatch(
        features=features,
        present={name: torch.ones(rows, dtype=torch.bool) for name in features},
        tokens=torch.where(torch.arange(INPUTS.max_words) < lengths, tokens, 0),
        clip_key=torch.arange(rows),
        video_key=torch.arange(rows) // 4,
        caption_key=torch.arange(rows),
    ).to(device)


def interleaved_seconds(
    steps: Mapping[str, Callable[[], object]], repeats: int, device: torch.device
) -> dict[str, list[float]]:
    """Seconds of every step in every round, after one round that does not count.

    All steps have their turn in each round, so what slows the machine for a while slows all of them alike. On the CPU
    they are seconds of this process's own code on a processor: neither other work on the machine counts, nor the
    system's for fresh pages of memory, which a GPU's allocator does not ask for in every step. Run it with one thread,
    since threads that wait for each other count too.
    """
    clock = perf_counter if device.type == "cuda" else _user_seconds
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(repeats + 1):
        for name, step in steps.items():
            _wait(device)
            began = clock()
            step()
            _wait(device)
            seconds[name].append(clock() - began)
    return {name: values[1:] for name, values in seconds.items()}


def paired_ratio(seconds: Sequence[float], other: Sequence[float]) -> float:
    """The median over the rounds of `seconds` to `other`."""
    return median(a / b for a, b in zip(seconds, other, strict=True))


def peak_bytes(step: Step, device: torch.device) -> int:
    """The most bytes of tensors alive at once in a step, weights and Adam's moments included; run it once before.

    Both devices count alike what their allocator hands out to tensors: `torch.cuda.max_memory_allocated`, and on the
    CPU the profiler's record of allocations. A process's resident memory would count the libraries' own scratch space,
    and what an allocator keeps for later or has not yet touched.
    """
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        step()
        return torch.cuda.max_memory_allocated(device)
    held = step.held_bytes()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        step()
    return held + _highest(profiled)


def _highest(profiled: profile) -> int:
    """The highest balance of bytes allocated and freed since the profile began."""
    descriptor, name = tempfile.mkstemp(suffix=".json")
    os.close(descriptor)
    try:
        profiled.export_chrome_trace(name)
        events = json.loads(Path(name).read_text())["traceEvents"]
    finally:
        Path(name).unlink()
    changes = [event for event in events if event.get("name") == "[memory]"]
    balance = highest = 0
    for event in sorted(changes, key=lambda event: event["ts"]):
        balance += event["args"]["Bytes"]
        highest = max(highest, balance)
    return highest


def _user_seconds() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


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
    rates = [sum(timing["rows"] / timing["seconds"] for timing in turn["timings"]) for turn in rounds]
    source = f"{figures['command']} on {figures['device']}"
    return Feeding(median(rates), figures["row_bytes"], figures["rows_read_per_row"], source)


def sampled(fed: Feeding, sampling: Mapping[str, Any], clips: float) -> Feeding:
    """The same of videos with so many clips, of which a batch takes some but whole row groups are read.

    `sampling`: the figures of sampling.json, between whose costs of a clip those of other numbers are interpolated.
    """
    read = max(1.0, clips / sampling["clips_per_video"])
    rows = sorted(sampling["rows"], key=lambda row: row["rows_read_per_row"])
    costs = [row["microseconds"]["row groups"] for row in rows]
    slower = np.interp([read, fed.rows_read_per_row], [row["rows_read_per_row"] for row in rows], costs)
    rate = fed.clips_per_core_s * float(slower[1] / slower[0])
    return replace(fed, clips_per_core_s=rate, rows_read_per_row=read)


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
