"""One training step of the hybrid dual encoder beside the same step written with loops and broadcasts.

Forward pass, losses, backward pass, Adam, at the published sizes of the network, in turns on the same batch:

    python -m benchmarks.dual_step [--videos 128] [--frames 32] [--frame-dim 2048] [--rounds 5]
"""

import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy, normalize
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.profiler import ProfilerActivity, profile

from benchmarks.machine import processor
from benchmarks.report.pages import RESULTS, Benchmark, numbered
from benchmarks.training_step import interleaved_seconds, paired_ratio
from vtr_core.config.settings import ModelInputs
from vtr_core.data.batches import FrameBatch
from vtr_core.nn.multi_level_encoding import TemporalLevels
from vtr_core.systems.dual.config import DualTripletConfig, HybridEncoderConfig
from vtr_core.systems.dual.loss import DualObjective
from vtr_core.systems.dual.model import HybridEncoder


def loop_loss(
    model: HybridEncoder, batch: FrameBatch, labels: Tensor, margin: float = 0.2, weight: float | None = None
) -> Tensor:
    """L_lat + L_con + B · BCE, of rows of different videos with as many frames each."""
    (name,) = batch.frames
    lengths = [int(length) for length in batch.mask[name].sum(dim=1)]
    steps = batch.frames[name].float()
    video = torch.cat([batch.mean[name], _levels(model.frames.levels, model.frames.levels.gru(steps)[0], lengths)], 1)
    text = torch.cat(_sentences(model, batch.tokens), 1)
    spaces = []
    for heads, values in ((model.video_heads, video), (model.text_heads, text)):
        assert heads.latent is not None and heads.concept is not None  # noqa: PT018
        everyone = torch.ones(len(values), dtype=torch.bool, device=values.device)
        latent = heads.latent.dropout(heads.latent.norm(heads.latent.linear(values), everyone))
        concept = torch.sigmoid(heads.concept.norm(heads.concept.linear(values), everyone))
        spaces.append((normalize(latent, dim=1), concept))
    (video_latent, video_concept), (text_latent, text_concept) = spaces
    total = _triplets(video_latent @ text_latent.T, margin) + _triplets(_jaccard(video_concept, text_concept), margin)
    scale = len(labels) if weight is None else weight
    for probabilities in (video_concept, text_concept):
        total = total + scale * binary_cross_entropy(probabilities, labels)
    return total


def _sentences(model: HybridEncoder, tokens: Tensor) -> list[Tensor]:
    """Levels 1 to 3 of captions; the first is counted on the host, word by word."""
    words = model.words.num_words
    bags = torch.zeros(len(tokens), words)
    sequences = []
    for row, caption in enumerate(tokens.tolist()):
        kept = [token for token in caption if token]
        for token in kept:
            if token <= words:
                bags[row, token - 1] += 1
        sequences.append(torch.tensor([words + 1, *kept, words + 2]))
    lengths = [len(sequence) for sequence in sequences]
    padded = nn.utils.rnn.pad_sequence(sequences, batch_first=True).to(tokens.device)
    packed = pack_padded_sequence(model.words.vectors(padded), lengths, batch_first=True, enforce_sorted=False)
    hidden = pad_packed_sequence(model.words.levels.gru(packed)[0], batch_first=True)[0]
    return [bags.to(tokens.device), _levels(model.words.levels, hidden, lengths)]


def _levels(levels: TemporalLevels, hidden: Tensor, lengths: list[int]) -> Tensor:
    """Levels 2 and 3 of the GRU's outputs."""
    mean = torch.zeros(len(hidden), hidden.shape[2], device=hidden.device)
    for row, length in enumerate(lengths):
        mean[row] = hidden[row, :length].mean(dim=0)
    by_step, local = hidden.transpose(1, 2), []
    for convolution in levels.convolutions:
        responses = torch.relu(convolution(by_step))
        local.append(nn.functional.max_pool1d(responses, responses.shape[2]).squeeze(2))
    return torch.cat([levels.dropout(mean), levels.dropout(torch.cat(local, dim=1))], dim=1)


def _jaccard(video: Tensor, text: Tensor) -> Tensor:
    a, b = video.unsqueeze(1).expand(-1, len(text), -1), text.unsqueeze(0).expand(len(video), -1, -1)
    return torch.min(a, b).sum(-1) / torch.max(a, b).sum(-1)


def _triplets(scores: Tensor, margin: float) -> Tensor:
    own, diagonal = scores.diag().unsqueeze(1), torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    rows = (margin + scores - own.expand_as(scores)).clamp(min=0).masked_fill(diagonal, 0)
    columns = (margin + scores - own.T.expand_as(scores)).clamp(min=0).masked_fill(diagonal, 0)
    return rows.max(1)[0].sum() + columns.max(0)[0].sum()


NUM_WORDS, MAX_WORDS = 7807, 20
"""MSR-VTT's vocabulary."""
SHOWN = 6
"""Operators of each step that the page shows."""
Step = Callable[[], object]


@dataclass(frozen=True)
class Flags:
    """Sizes, and how often."""

    videos: int = 128
    """Of a batch."""
    frames: int = 32
    """Of a video."""
    frame_dim: int = 2048
    """Of a frame."""
    rounds: int = 5
    """Turns; medians of the ratios within a turn are reported."""
    out: str = str(RESULTS)
    """Folder for dual_step.json and dual_step.md."""


def measure(flags: Flags) -> dict[str, Any]:
    """What `compare` finds, on the GPU where there is one."""
    return compare(flags, torch.device("cuda" if torch.cuda.is_available() else "cpu"))


def compare(flags: Flags, device: torch.device, config: HybridEncoderConfig | None = None) -> dict[str, Any]:
    """Seconds of both steps, and of the two forms of the concept space's similarity alone."""
    config = config or HybridEncoderConfig()
    inputs = ModelInputs(
        features={"video": flags.frame_dim},
        num_words=NUM_WORDS,
        word_dim=config.inputs.word_dim,
        max_words=MAX_WORDS,
    )
    torch.manual_seed(0)
    model = HybridEncoder(config.model_copy(update={"inputs": inputs})).to(device)
    batch, labels = random_videos(flags, config.num_concepts or 0, device)
    objective = DualObjective(DualTripletConfig(), config.concept_similarity)
    other = copy.deepcopy(model)
    steps = {
        "ours": _step(model, lambda: objective(model(batch), labels, batch.keys).total, fused=True),
        "loops": _step(other, lambda: loop_loss(other, batch, labels), fused=False),
    }
    seconds = interleaved_seconds(steps, flags.rounds, device)
    return {
        "videos": flags.videos,
        "frames": flags.frames,
        "frame_dim": flags.frame_dim,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "rounds": flags.rounds,
        "seconds": {name: median(values) for name, values in seconds.items()},
        "loops_to_ours": paired_ratio(seconds["loops"], seconds["ours"]),
        "shares": {name: _shares(step, device) for name, step in steps.items()},
        "device": processor() if device.type == "cpu" else torch.cuda.get_device_name(device),
        "threads": torch.get_num_threads(),
    }


def _shares(step: Step, device: torch.device) -> dict[str, float]:
    """The part of a step's time that each operator takes by itself, by name, highest first."""
    activity = ProfilerActivity.CPU if device.type == "cpu" else ProfilerActivity.CUDA
    with profile(activities=[activity]) as profiled:
        step()
    times = {
        event.key: event.self_cpu_time_total if device.type == "cpu" else event.self_device_time_total
        for event in profiled.key_averages()
    }
    total = sum(times.values())
    return {name: time / total for name, time in sorted(times.items(), key=lambda item: -item[1])}


def _step(model: HybridEncoder, loss: Callable[[], Tensor], fused: bool) -> Step:
    """A step with Adam, fused as training here has it, or as torch has it by default."""
    optimizer = torch.optim.Adam(model.parameters(), 1e-4, fused=fused)

    def step() -> None:
        loss().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def random_videos(flags: Flags, num_concepts: int, device: torch.device) -> tuple[FrameBatch, Tensor]:
    """Videos of `frames` frames with a caption of 5 to 20 words each; one soft label in fifty is not 0."""
    generator = torch.Generator().manual_seed(0)
    rows = flags.videos
    frames = torch.randn(rows, flags.frames, flags.frame_dim, generator=generator).relu().half()
    tokens = torch.randint(1, NUM_WORDS + 1, (rows, MAX_WORDS), generator=generator)
    lengths = torch.randint(5, MAX_WORDS + 1, (rows, 1), generator=generator)
    chosen = torch.rand(rows, num_concepts, generator=generator) < 0.02
    labels = torch.where(chosen, torch.rand(rows, num_concepts, generator=generator), 0)
    batch = FrameBatch(
        frames={"video": frames},
        mask={"video": torch.ones(rows, flags.frames, dtype=torch.bool)},
        mean={"video": frames.float().mean(dim=1)},
        present={"video": torch.ones(rows, dtype=torch.bool)},
        tokens=torch.where(torch.arange(MAX_WORDS) < lengths, tokens, 0),
        clip_key=torch.arange(rows),
        video_key=torch.arange(rows),
        caption_key=torch.arange(1, rows + 1),
    )
    return batch.to(device), labels.to(device)


def markdown(figures: dict[str, Any]) -> str:
    """The page."""
    rows = [f"| {name} | {seconds:.3f} |" for name, seconds in figures["seconds"].items()]
    return "\n".join(
        [
            "# A training step of the hybrid dual encoder",
            "",
            f"{figures['parameters']:,} parameters, {figures['videos']} videos of {figures['frames']} frames of "
            f"{figures['frame_dim']} features; forward pass, losses, backward pass, Adam; float32. loops: the same",
            "layers with bags of words and means over steps in Python loops, the Jaccard similarity of all pairs",
            f"broadcast, and Adam not fused, as published code has them. In turns, {figures['rounds']} rounds.",
            "",
            "| step | s |",
            "|---|---:|",
            *rows,
            "",
            f"loops / ours: {figures['loops_to_ours']:.2f}.",
            "",
            *_profile(figures["shares"]),
            "",
            f"On {figures['device']}, {figures['threads']} threads; {numbered(figures['versions'])}; "
            f"`{figures['command']}`.",
            "",
        ]
    )


def _profile(shares: dict[str, dict[str, float]]) -> list[str]:
    """For each step the operators that take most of its time."""
    rows = [
        f"| {step} | {', '.join(f'`{name}` {100 * share:.0f} %' for name, share in list(parts.items())[:SHOWN])} |"
        for step, parts in shares.items()
    ]
    return ["| step | operators that take most of it by themselves (torch.profiler, one step) |", "|---|---|", *rows]


BENCHMARK = Benchmark("benchmarks.dual_step", Flags, measure, markdown)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
