"""What a training step costs with each capsule routing, and with more capsules (Duarte et al., Tables 3 and 4).

Time and peak memory of forward pass, loss, backward pass and Adam with the paper's dimensions (video 4096, audio 1024,
20 words of 300, D = 4096), of the routings alone, and of self-attention with C = 32 to 256. All in one run, in turns:

    python -m benchmarks.routing [--device cuda] [--repeats 20]
    python -m benchmarks.routing --faces 16
    python -m benchmarks.routing --em-steps 10000 --em-data runs/synthetic/train
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from benchmarks.routing.em_stability import train_em
from benchmarks.routing.faces import compare_faces, faces_markdown
from benchmarks.routing.page import markdown
from benchmarks.training_step import INPUTS, TrainingStep, interleaved_seconds, paired_ratio, peak_bytes, random_clips
from pipelines.arguments import parse
from vtr_core.config.routing import (
    DynamicRouting,
    EmRouting,
    NoRouting,
    RoutingConfig,
    SelfAttentionRouting,
    SetTransformerRouting,
)
from vtr_core.nn.capsules.capsules import Capsules
from vtr_core.nn.capsules.routing import build_routing
from vtr_core.systems.capsules.config import CapsuleNetConfig

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
    out: str = str(Path(__file__).parent.parent / "results")
    """Folder for routing.json and routing.md, or routing_em.json, or face_routing.json and face_routing.md."""
    repeats: int = 5
    """Rounds that are timed; medians are reported."""
    rows: int | None = None
    """Clips in a batch for the routings (default: 512 on a CPU, 4096 on a GPU)."""
    capsule_rows: int | None = None
    """Clips in a batch for the numbers of capsules (default: 64 on a CPU, 4096 on a GPU)."""
    faces: int | None = None
    """Instead of the comparison, measure routing to face capsules with so many images, on a CPU."""
    em_steps: int | None = None
    """Instead of the comparison, train a network with EM routing for so many steps and report what was not finite."""
    em_data: str = "runs/synthetic/train"
    """Its training data: a data set of `vtr ingest synthetic`."""
    em_capsules: int = 32
    """Its capsules, with poses of dimension 16."""
    em_rows: int = 32
    """Its clips in a batch."""


def main(argv: Sequence[str]) -> None:
    """Run the comparison, print it and write it."""
    flags = parse(Flags, argv, "python -m benchmarks.routing")
    out = page_folder(flags.out)
    if flags.faces is not None:
        torch.set_num_threads(1)
        measured_faces = compare_faces(flags.faces, flags.repeats)
        found = {**measured_faces, "repeats": flags.repeats, **_machine("cpu", argv)}
        page = faces_markdown(found)
        write_page(out, "face_routing", found, page)
        print(page)
        return
    if flags.em_steps is not None:
        found = asdict(train_em(flags.em_data, flags.em_steps, flags.em_capsules, flags.em_rows)) | _machine(
            "cpu", argv
        )
        (out / "routing_em.json").write_text(json.dumps(found, indent=1) + "\n")
        print(json.dumps(found, indent=1))
        return
    figures = compare(flags, argv)
    page = markdown(figures)
    write_page(out, "routing", figures, page)
    print(page)


def compare(flags: Flags, argv: Sequence[str]) -> dict[str, Any]:
    """All figures."""
    device = torch.device("cuda" if flags.device != "cpu" and torch.cuda.is_available() else "cpu")
    if flags.device == "cuda" and device.type != "cuda":
        raise SystemExit("--device cuda: torch sees no GPU here; use --device cpu")
    gpu = device.type == "cuda"
    if not gpu:
        torch.set_num_threads(1)  # with more of them, processor time would count their waiting for each other
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
        **_machine(device.type, argv),
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
        f"{one} / {other}": {
            "time": paired_ratio(routed[one]["rounds"], routed[other]["rounds"]),
            "memory": routed[one]["peak_gb"] / routed[other]["peak_gb"],
        }
        for one, other in pairs
    }


def line(sized: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, float]:
    """Least squares of a figure over C, and how far the points lie from it, as a share of the figure."""
    counts = np.array([int(count) for count in sized], dtype=float)
    values = np.array([found[name] for found in sized.values()])
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


def _machine(device: str, argv: Sequence[str]) -> dict[str, Any]:
    on_cpu = f"{processor()}, {torch.get_num_threads()} threads"
    return {
        "device": torch.cuda.get_device_name() if device == "cuda" else on_cpu,
        "versions": versions("torch"),
        "command": " ".join(["python -m benchmarks.routing", *argv]),
    }
