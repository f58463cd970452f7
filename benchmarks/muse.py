"""MUSE's video learners: peak memory and time of a training step over 255 tokens a frame, by the number of frames.

python -m benchmarks.muse                            T = 4 … 64 frames, four layers of 512 channels
python -m benchmarks.muse --frames 4 12 --repeats 1  a look at it
Writes muse.json and muse.md. A step is a forward and a backward pass of the learner alone and Adam: what stands in
Table 4's column of memory. On a CPU one row is measured and memory given for sixteen; it is linear in the rows.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

import torch
from pydantic import TypeAdapter

from benchmarks.report.pages import RESULTS, Benchmark
from benchmarks.training_step import chosen_device, device_name, interleaved_seconds, peak_bytes
from vtr_core.config.towers import LearnerConfig
from vtr_core.nn.mamba.learners import build_learner
from vtr_core.nn.mamba.scan import scan_backend

TOKENS = 1 + 3**2 + 7**2 + 14**2
"""Of a frame, at scales 1, 3, 7 and 14."""
ROWS = 16
"""Table 4's batch."""
LEARNERS = ("mamba", "mamba_recompute", "transformer", "flash", "mamba_out", "none")
CONFIG: TypeAdapter[LearnerConfig] = TypeAdapter(LearnerConfig)


@dataclass(frozen=True)
class Flags:
    """What to measure, and where."""

    frames: tuple[int, ...] = (4, 8, 12, 16, 24, 32, 48, 64)
    """Frames of a video."""
    learners: tuple[str, ...] = LEARNERS
    """Video learners; mamba_recompute is Mamba with `recompute`, which keeps the inputs of its scans alone."""
    layers: int = 4
    """Layers of each."""
    dim: int = 512
    """Channels."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto`: the GPU where there is one."""
    limit_gb: float = 12.0
    """What is expected to need more is left out; expected from fewer frames, as the square of their number."""
    repeats: int = 3
    """Rounds that are timed; medians are reported."""
    out: str = str(RESULTS)
    """Folder for muse.json and muse.md."""


class LearnerStep:
    """Forward and backward pass over fixed random tokens, and Adam."""

    def __init__(self, learner: str, frames: int, rows: int, flags: Flags, device: torch.device) -> None:
        torch.manual_seed(0)
        self._learner = build_learner(flags.dim, _config(learner, flags.layers), initial_gate=None).to(device)
        self._tokens = torch.randn(rows, TOKENS * frames, flags.dim).to(device).requires_grad_()
        parameters = list(self._learner.parameters())
        self._optimizer = torch.optim.Adam(parameters, 1e-4) if parameters else None

    def __call__(self) -> None:
        """One step."""
        self._learner(self._tokens).square().mean().backward()
        self._tokens.grad = None
        if self._optimizer is not None:
            self._optimizer.step()
            self._optimizer.zero_grad(set_to_none=True)

    def held_bytes(self) -> int:
        """Tokens, weights and Adam's moments."""
        return self._tokens.nbytes + self.weight_bytes()

    def weight_bytes(self) -> int:
        """What does not grow with the rows."""
        states = () if self._optimizer is None else self._optimizer.state.values()
        moments = [value for state in states for value in state.values() if isinstance(value, torch.Tensor)]
        return sum(tensor.nbytes for tensor in (*self._learner.parameters(), *moments))


def _config(learner: str, layers: int) -> LearnerConfig:
    match learner:
        case "none":
            return CONFIG.validate_python({"kind": "none"})
        case "mamba_recompute":
            return CONFIG.validate_python({"kind": "mamba", "layers": layers, "recompute": True})
        case _:
            return CONFIG.validate_python({"kind": learner, "layers": layers})


def measure(flags: Flags) -> dict[str, Any]:
    """The steps, those of twelve frames apart (for Table 4), and what they were measured with."""
    device = chosen_device(flags.device)
    measured = steps(flags, device)
    return {
        "steps": measured,
        "learners": [step for step in measured if step["frames"] == 12],
        "layers": flags.layers,
        "dim": flags.dim,
        "rows_timed": ROWS if device.type == "cuda" else 1,
        "scan": scan_backend(device).name,
        "device": device_name(device),
    }


def steps(flags: Flags, device: torch.device) -> list[dict[str, Any]]:
    """For every number of frames and learner: peak memory of sixteen rows in GB and seconds, None where left out."""
    rows = ROWS if device.type == "cuda" else 1
    measured: list[dict[str, Any]] = []
    for frames in flags.frames:
        fitting = [name for name in flags.learners if _expected_gb(measured, name, frames, rows) <= flags.limit_gb]
        peaks = {name: _peak(name, frames, rows, flags, device) for name in fitting}
        learners = {name: LearnerStep(name, frames, rows, flags, device) for name in fitting}
        seconds = interleaved_seconds(learners, flags.repeats, device)
        for name in flags.learners:
            fits = name in fitting
            measured.append(
                {
                    "learner": name,
                    "frames": frames,
                    "tokens": TOKENS * frames,
                    "peak_gb": peaks[name] / 1e9 if fits else None,
                    "seconds": median(seconds[name]) if fits else None,
                }
            )
            print(measured[-1], flush=True)
    return measured


def _peak(learner: str, frames: int, rows: int, flags: Flags, device: torch.device) -> float:
    """Bytes at the peak of a step, carried over from the rows measured to sixteen."""
    step = LearnerStep(learner, frames, rows, flags, device)
    step()
    fixed = step.weight_bytes()
    return fixed + (peak_bytes(step, device) - fixed) * ROWS / rows


def _expected_gb(measured: Sequence[Mapping[str, Any]], learner: str, frames: int, rows: int) -> float:
    """What the measured rows would need if memory grew as the square of the frames; 0 before anything is known."""
    known = [step for step in measured if step["learner"] == learner]
    if not known:
        return 0.0
    if known[-1]["peak_gb"] is None:
        return float("inf")
    return float(known[-1]["peak_gb"] * (frames / known[-1]["frames"]) ** 2 * rows / ROWS)


def markdown(figures: Mapping[str, Any]) -> str:
    """The figures as a page: memory and time beside Mamba's."""
    lines = [
        "# Video learners of MUSE: a training step",
        "",
        f"{figures['layers']} layers of {figures['dim']} channels over {TOKENS} tokens a frame, float32, memory of "
        f"{ROWS} rows, seconds of {figures['rows_timed']}; scans: {figures['scan']}; on {figures['device']}; "
        f"torch {figures['versions']['torch']}. `{figures['command']}`",
        "",
        "| frames | tokens | learner | peak memory, GB | ÷ Mamba's | seconds | ÷ Mamba's |",
        "|---:|---:|---|---:|---:|---:|---:|",
    ]
    mamba = {step["frames"]: step for step in figures["steps"] if step["learner"] == "mamba"}
    for step in figures["steps"]:
        beside = mamba.get(step["frames"], {})
        cells = [_cell(step[name], beside.get(name)) for name in ("peak_gb", "seconds")]
        lines.append(f"| {step['frames']} | {step['tokens']:,} | {step['learner']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(value: float | None, mamba: float | None) -> str:
    if value is None:
        return "too much | –"
    return f"{value:.2f} | {value / mamba:.2f}" if mamba else f"{value:.2f} | –"


BENCHMARK = Benchmark("benchmarks.muse", Flags, measure, markdown)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
