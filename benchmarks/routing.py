"""What a training step costs with each capsule routing, and with more capsules (Duarte et al., Tables 3 and 4).

Time and peak memory of forward pass, loss, backward pass and Adam with the paper's dimensions (video 4096, audio 1024,
20 words of 300, D = 4096), of the routings alone, and of self-attention with C = 32 to 256. All in one run, in turns:

    python -m benchmarks.routing [--device cuda] [--repeats 20]
    python -m benchmarks.routing --faces 16
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.report.pages import RESULTS, Benchmark, origin
from benchmarks.training_step import (
    INPUTS,
    TrainingStep,
    chosen_device,
    device_name,
    interleaved_seconds,
    paired_ratio,
    peak_bytes,
    random_clips,
)
from vtr_core.config.towers import (
    DynamicRouting,
    EmRouting,
    NoRouting,
    RoutingConfig,
    SelfAttentionRouting,
    SetTransformerRouting,
)
from vtr_core.nn.capsules.capsule_tower import ConvolutionalCapsules, RoutedCapsules
from vtr_core.nn.capsules.dynamic_routing import Capsules
from vtr_core.nn.capsules.routing import build_routing
from vtr_core.systems.capsules.config import CapsuleNetConfig

FACES, FACE_DIM, ITERATIONS = 32, 16, 4
CHANNELS, TYPES, FACE_POSE_DIM = 256, 32, 8
PLACES = {"100 x 100": (31, 12), "42 x 42": (12, 2)}
"""Of images: the side of the first convolution's maps, and of the primary capsules' grid."""


@dataclass(frozen=True)
class _Step:
    """Forward and backward pass."""

    forward: Callable[[Tensor], Tensor]
    inputs: Tensor

    def __call__(self) -> None:
        self.inputs.grad = None
        self.forward(self.inputs).square().sum().backward()

    def held_bytes(self) -> int:
        """The inputs, which live all the time."""
        return self.inputs.nbytes


def straightforward(layer: RoutedCapsules, poses: Tensor) -> Tensor:
    """The same poses as the procedure is usually written: products as large as the votes in every round."""
    batch, inputs, dim = poses.shape
    weight = layer.weight.view(1, inputs, dim, layer.outputs, -1).permute(0, 1, 3, 2, 4)
    votes = (poses[:, :, None, None] @ weight).squeeze(3)  # (batch, inputs, outputs, face dim)
    logits = poses.new_zeros(batch, inputs, layer.outputs, 1)
    routed = poses.new_zeros(batch, 1, layer.outputs, votes.shape[3])
    for number in range(layer.iterations):
        routed = (logits.softmax(dim=2) * votes).sum(dim=1, keepdim=True).tanh()
        if number < layer.iterations - 1:
            logits = logits + (votes * routed).sum(dim=3, keepdim=True)
    return routed.squeeze(1)


def measure_faces(flags: "Flags") -> dict[str, Any]:
    """Median seconds and peak memory of routing both ways, and of primary capsules in both layouts of memory."""
    device, sizes = chosen_device("cpu"), {}
    for name, (maps, places) in PLACES.items():
        torch.manual_seed(0)
        inputs = TYPES * places * places
        layer = RoutedCapsules(inputs, FACE_POSE_DIM, FACES, FACE_DIM, ITERATIONS, "tanh", "outputs")
        poses = torch.randn(flags.faces, inputs, FACE_POSE_DIM).tanh().requires_grad_()
        torch.testing.assert_close(layer(poses), straightforward(layer, poses), atol=1e-4, rtol=1e-3)
        plain, last = _convolutions(flags.faces, maps)
        steps = {
            "routing": _Step(layer, poses),
            "straightforward": _Step(partial(straightforward, layer), poses),
            "primary, channels last": last,
            "primary, channels first": plain,
        }
        seconds = interleaved_seconds(steps, flags.repeats, device)
        sizes[name] = {
            "seconds": {step: median(values) for step, values in seconds.items()},
            "peak_gb": {step: peak_bytes(steps[step], device) / 1e9 for step in ("routing", "straightforward")},
            "routing_faster": paired_ratio(seconds["straightforward"], seconds["routing"]),
            "channels_last_faster": paired_ratio(seconds["primary, channels first"], seconds["primary, channels last"]),
        }
    return {"rows": flags.faces, "repeats": flags.repeats, "sizes": sizes, "device": device_name(device)}


def _convolutions(rows: int, side: int) -> tuple[_Step, _Step]:
    """Primary capsules of the same weights with channels first, and with channels last."""
    primary = ConvolutionalCapsules(CHANNELS, TYPES, FACE_POSE_DIM, "tanh")
    maps = torch.randn(rows, CHANNELS, side, side)
    last: nn.Module = ConvolutionalCapsules(CHANNELS, TYPES, FACE_POSE_DIM, "tanh")
    last = last.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs lack it
    last.load_state_dict(primary.state_dict())
    return (
        _Step(primary, maps.clone().requires_grad_()),
        _Step(last, maps.contiguous(memory_format=torch.channels_last).requires_grad_()),
    )


def faces_markdown(figures: dict[str, Any]) -> str:
    """The figures as a table."""
    lines = [
        "# Routing to face capsules",
        "",
        f"{figures['rows']} images, {FACES} face capsules of {FACE_DIM} numbers, {ITERATIONS} rounds; forward and "
        f"backward pass, medians of {figures['repeats']} interleaved rounds.",
        f"{figures['device']}. `{figures['command']}`",
        "",
        "| images | routing, s | straightforward, s | times faster | memory, GB | straightforward, GB | "
        "primary capsules, channels last, s | channels first, s | times faster |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, size in figures["sizes"].items():
        seconds, peak = size["seconds"], size["peak_gb"]
        cells = [
            f"{seconds['routing']:.3f}",
            f"{seconds['straightforward']:.3f}",
            f"{size['routing_faster']:.1f}",
            f"{peak['routing']:.2f}",
            f"{peak['straightforward']:.2f}",
            f"{seconds['primary, channels last']:.3f}",
            f"{seconds['primary, channels first']:.3f}",
            f"{size['channels_last_faster']:.1f}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


CAPSULES, DIM = 64, 16
"""Of Table 3: C, and d1 = d2."""
ROUTINGS: dict[str, RoutingConfig] = {
    "none": NoRouting(pose_dim=DIM),
    "dynamic": DynamicRouting(pose_dim=DIM),
    "em": EmRouting(pose_dim=DIM),
    "set_transformer": SetTransformerRouting(pose_dim=DIM),
    "self_attention": SelfAttentionRouting(pose_dim=DIM),
}
NUM_CAPSULES = (32, 64, 128, 256)
"""Of Table 4, with d1 = 32 and d2 = 256."""


@dataclass(frozen=True)
class Flags:
    """Where to run and how often."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto`: the GPU where there is one."""
    out: str = str(RESULTS)
    """Folder for routing.json and routing.md, or face_routing.json and face_routing.md."""
    repeats: int = 5
    """Rounds that are timed; medians are reported."""
    rows: int | None = None
    """Clips in a batch for the routings (default: 512 on a CPU, 4096 on a GPU)."""
    capsule_rows: int | None = None
    """Clips in a batch for the numbers of capsules (default: 64 on a CPU, 4096 on a GPU)."""
    faces: int = 0
    """Instead of the comparison, measure routing to face capsules with so many images, on a CPU."""


def measure(flags: Flags) -> dict[str, Any]:
    """All figures of the routings."""
    device = chosen_device(flags.device)
    gpu = device.type == "cuda"
    rows, capsule_rows = flags.rows or (4096 if gpu else 512), flags.capsule_rows or (4096 if gpu else 64)
    routed = measured({name: _table3(routing) for name, routing in ROUTINGS.items()}, rows, flags.repeats, device)
    alone = interleaved_seconds({name: _alone(name, rows, device) for name in ROUTINGS}, flags.repeats, device)
    sized = measured({str(count): _table4(count) for count in NUM_CAPSULES}, capsule_rows, flags.repeats, device)
    return {
        "precision": "bf16 autocast" if gpu else "float32",
        "repeats": flags.repeats,
        "rows": rows,
        "routings": routed,
        "ratios": ratios(routed),
        "alone_seconds": {name: median(seconds) for name, seconds in alone.items()},
        "alone_to_self_attention": {name: paired_ratio(s, alone["self_attention"]) for name, s in alone.items()},
        "capsule_rows": capsule_rows,
        "capsules": sized,
        "linear": {name: line(sized, name) for name in ("seconds", "peak_gb")},
        "device": device_name(device),
    }


def measured(
    configs: Mapping[str, CapsuleNetConfig], rows: int, repeats: int, device: torch.device
) -> dict[str, dict[str, Any]]:
    """Peak memory of every model's step, each alone on the device; then their times, in turns."""
    batch, peaks = random_clips(rows, device), {}
    for name, config in configs.items():
        step = TrainingStep(config, batch)
        step()
        peaks[name] = peak_bytes(step, device)
        del step
    steps = {name: TrainingStep(config, batch) for name, config in configs.items()}
    seconds = interleaved_seconds(steps, repeats, device)
    return {
        name: {"seconds": median(seconds[name]), "rounds": seconds[name], "peak_gb": peaks[name] / 1e9}
        for name in configs
    }


def ratios(routed: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """The comparisons that the paper draws, as ratios of time (median of the rounds' ratios) and of peak memory."""
    pairs = [("self_attention", "none"), *((name, "self_attention") for name in ("dynamic", "em", "set_transformer"))]
    return {
        f"{first} / {second}": {
            "time": paired_ratio(routed[first]["rounds"], routed[second]["rounds"]),
            "memory": routed[first]["peak_gb"] / routed[second]["peak_gb"],
        }
        for first, second in pairs
    }


def line(sized: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, float]:
    """Least squares of a figure over C, and how far the points lie from it, as a share of the figure."""
    counts = np.array([int(count) for count in sized], dtype=float)
    values = np.array([step[name] for step in sized.values()])
    slope, intercept = np.polyfit(counts, values, 1)
    residuals = values - (intercept + slope * counts)
    spread = ((values - values.mean()) ** 2).sum()
    return {
        "intercept": float(intercept),
        "per_capsule": float(slope),
        "r_squared": float(1 - (residuals**2).sum() / spread) if spread else 1.0,
        "largest_residual": float(np.abs(residuals / values).max()),
    }


def _table3(routing: RoutingConfig) -> CapsuleNetConfig:
    return CapsuleNetConfig(inputs=INPUTS, num_capsules=CAPSULES, primary_dim=DIM, routing=routing)


def _table4(num_capsules: int) -> CapsuleNetConfig:
    return CapsuleNetConfig(inputs=INPUTS, num_capsules=num_capsules, primary_dim=32)


class _Alone:
    """A routing's forward and backward pass over given primary capsules."""

    def __init__(self, module: nn.Module, rows: int, device: torch.device) -> None:
        torch.manual_seed(0)
        self._module, self._device = module.to(device), device
        self._poses = torch.randn(rows, CAPSULES, DIM, device=device, requires_grad=True)
        self._activations = torch.rand(rows, CAPSULES, device=device, requires_grad=True)

    def __call__(self) -> None:
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._device.type == "cuda"):
            routed = self._module(Capsules(self._poses, self._activations))
        routed.weighted_poses().square().sum().backward()


def _alone(name: str, rows: int, device: torch.device) -> _Alone:
    return _Alone(build_routing(CAPSULES, DIM, ROUTINGS[name]), rows, device)


PAPER = {
    "none": (0.687, 9.12),
    "dynamic": (1.534, 20.50),
    "em": (1.272, 19.13),
    "set_transformer": (0.707, 9.11),
    "self_attention": (0.722, 9.11),
}
"""Table 3: seconds per batch and GB on the authors' GPUs."""
PAPER_CAPSULES = {"32": (0.730, 9.15), "64": (0.768, 11.24), "128": (0.879, 15.97), "256": (1.096, 27.98)}
"""Table 4."""
GOALS = (
    ("self_attention / none", "time", "at most", 1.05),
    ("self_attention / none", "memory", "at most", 1.0),
    ("dynamic / self_attention", "time", "at least", 2.1),
    ("dynamic / self_attention", "memory", "at least", 2.2),
)
"""(ratio, of what, bound, value): what the published figures say, rounded."""

LEAST_ROWS = 512
"""Clips of a batch from which the ratios are judged: with few, a step costs the optimizer's pass over the weights."""


def reached(ratios: Mapping[str, Mapping[str, float]]) -> list[bool]:
    """Whether each of `GOALS` is reached."""
    judged = [(ratios[pair][part], bound, value) for pair, part, bound, value in GOALS]
    return [ratio <= value if bound == "at most" else ratio >= value for ratio, bound, value in judged]


def markdown(figures: Mapping[str, Any]) -> str:
    """The page."""
    return "\n".join([*_routings(figures), *_goals(figures), *_capsules(figures), *_footer(figures)])


def _routings(figures: Mapping[str, Any]) -> list[str]:
    rows = [
        f"| {name} | {step['seconds']:.3f} | {step['peak_gb']:.3f} | {1000 * figures['alone_seconds'][name]:.1f} "
        f"| {figures['alone_to_self_attention'][name]:.2f} | {PAPER[name][0]:.3f} | {PAPER[name][1]:.2f} |"
        for name, step in figures["routings"].items()
    ]
    return [
        "# Capsule routings: cost of a training step",
        "",
        f"C = 64, d1 = d2 = 16, {figures['rows']} clips, {figures['precision']}; medians of {figures['repeats']}",
        "rounds.",
        "",
        "| routing | step, s | peak memory, GB | routing alone, ms | to self-attention | paper, s | paper, GB |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *rows,
        "",
    ]


def _goals(figures: Mapping[str, Any]) -> list[str]:
    judged = figures["rows"] >= LEAST_ROWS
    rows = [
        f"| {pair} | {quantity} | {bound} {value:g} | {figures['ratios'][pair][quantity]:.3f} "
        f"| {('yes' if met else '**no**') if judged else 'not judged'} |"
        for (pair, quantity, bound, value), met in zip(GOALS, reached(figures["ratios"]), strict=True)
    ]
    return ["| ratio | of | goal | measured | reached |", "|---|---|---|---:|---|", *rows, ""]


def _capsules(figures: Mapping[str, Any]) -> list[str]:
    rows = [
        f"| {count} | {step['seconds']:.3f} | {step['peak_gb']:.3f} | {PAPER_CAPSULES[count][0]:.3f} "
        f"| {PAPER_CAPSULES[count][1]:.2f} |"
        for count, step in figures["capsules"].items()
    ]
    fits = [
        f"{quantity}: {fit['intercept']:.3f} + {fit['per_capsule']:.5f}·C {unit}, R² = {fit['r_squared']:.4f}, largest"
        f" residual {100 * fit['largest_residual']:.1f} %."
        for quantity, unit, fit in (
            ("Time", "s", figures["linear"]["seconds"]),
            ("Memory", "GB", figures["linear"]["peak_gb"]),
        )
    ]
    return [
        f"Self-attention with d1 = 32, d2 = 256, {figures['capsule_rows']} clips:",
        "",
        "| C | step, s | peak memory, GB | paper, s | paper, GB |",
        "|---:|---:|---:|---:|---:|",
        *rows,
        "",
        *fits,
        "",
    ]


def _footer(figures: Mapping[str, Any]) -> list[str]:
    return [
        "Time ratios are medians over the rounds of the ratio within a round; on a CPU, times are those of one thread",
        "on a processor, without the system's for fresh memory. Memory is what the allocator hands out to tensors at",
        "the peak of a step, weights and Adam's moments included.",
        "",
        origin(figures),
        "",
    ]


BENCHMARK = Benchmark("benchmarks.routing", Flags, measure, markdown)
FACE_BENCHMARK = Benchmark("benchmarks.routing", Flags, measure_faces, faces_markdown, name="face_routing")

if __name__ == "__main__":
    (FACE_BENCHMARK if "--faces" in sys.argv else BENCHMARK).main(sys.argv[1:])
