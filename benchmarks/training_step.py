"""One training step of a model on random clips: how long it takes and how much memory it needs at its peak."""

import json
import os
import resource
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Protocol

import torch
from torch.profiler import ProfilerActivity, profile

from vtr_core.config.losses import MaskedMarginSoftmaxConfig, ObjectiveConfig
from vtr_core.config.run import ModelConfig
from vtr_core.config.settings import ModelInputs
from vtr_core.data.batches import ClipBatch
from vtr_core.losses.contrastive import build_objective
from vtr_core.losses.objective import Objective
from vtr_core.run.build import build_model
from vtr_core.run.config import TrainConfig

INPUTS = ModelInputs(features={"video": 4096, "audio": 1024}, num_words=10_000, word_dim=300, max_words=20)
"""HowTo100M's features and word vectors as the capsule paper has them."""


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
        kept = [*self._model.parameters(), *self._model.buffers(), *(v for v in states if isinstance(v, torch.Tensor))]
        return sum(tensor.nbytes for tensor in kept)


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
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        step()
    return held + _highest(found)


def _highest(found: profile) -> int:
    """The highest balance of bytes allocated and freed since the profile began."""
    descriptor, name = tempfile.mkstemp(suffix=".json")
    os.close(descriptor)
    try:
        found.export_chrome_trace(name)
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
