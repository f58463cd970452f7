"""The selective scan against a loop over steps: time and peak memory of a forward and a backward pass.

python -m benchmarks.scan                               lengths 255 to 12,240: minutes, and tens of GB for the loop
python -m benchmarks.scan --lengths 255 --repeats 1     a look at it
Writes scan.json and scan.md. Which pass is where: `reference` is plain torch with stored states, `kernel` is
mamba-ssm's on a GPU, and the loop keeps every state for autograd.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import softplus

from benchmarks.report.pages import RESULTS, Benchmark
from benchmarks.training_step import chosen_device, device_name, interleaved_seconds, paired_ratio, peak_bytes
from vtr_core.nn.mamba.scan import scan_backend, selective_scan


@dataclass(frozen=True)
class Flags:
    """What to scan, and where."""

    lengths: tuple[int, ...] = (255, 765, 3060, 12240)
    """Tokens: one frame of scales 1, 3, 7, 14, or 12 frames after the mean over time; 3, 12 and 48 frames."""
    rows: int = 16
    """Sequences in a batch."""
    dim: int = 512
    """Channels."""
    state: int = 16
    """States of a channel."""
    loop_up_to: int = 3060
    """The longest sequence that the loop takes part in; its states of 12,240 tokens need about 40 GB."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto`: the GPU where there is one."""
    repeats: int = 3
    """Rounds that are timed; medians are reported."""
    out: str = str(RESULTS)
    """Folder for scan.json and scan.md."""


class Pass:
    """A forward and a backward pass of one scan; the tensors it begins with count as held."""

    def __init__(self, scan: Callable[..., Tensor], length: int, flags: Flags, device: torch.device) -> None:
        generator = torch.Generator().manual_seed(0)

        def draw(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator).to(device).requires_grad_()

        steps, weights = (flags.rows, flags.dim, length), (flags.rows, flags.state, length)
        decays = -torch.rand(flags.dim, flags.state, generator=generator) - 0.1
        self._scan = scan
        self._arguments = [
            draw(*steps),
            draw(*steps),
            decays.to(device).requires_grad_(),
            draw(*weights),
            draw(*weights),
        ]

    def __call__(self) -> None:
        """Both passes."""
        torch.autograd.grad(self._scan(*self._arguments).square().mean(), self._arguments)

    def held_bytes(self) -> int:
        """The arguments."""
        return sum(tensor.nbytes for tensor in self._arguments)


def loop(u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
    """`selective_scan` with a softplus, one step after the other, its states kept by autograd."""
    delta = softplus(delta)
    state, outputs = u.new_zeros(len(u), *A.shape), []
    for t in range(u.shape[2]):
        driven = (delta[:, :, t] * u[:, :, t]).unsqueeze(2) * B[:, None, :, t]
        state = torch.exp(delta[:, :, t, None] * A) * state + driven
        outputs.append((state * C[:, None, :, t]).sum(dim=2))
    return torch.stack(outputs, dim=2)


reference = partial(selective_scan, delta_softplus=True, backend="reference")
"""`selective_scan` in plain torch."""
kernel = partial(selective_scan, delta_softplus=True, backend="kernel")
"""`selective_scan` by mamba-ssm."""


def measure(flags: Flags) -> dict[str, Any]:
    """By length, of every scan its median seconds, peak memory, and ratio of times to the loop's."""
    device = chosen_device(flags.device)
    sizes = {"rows": flags.rows, "dim": flags.dim, "state": flags.state}
    return {"lengths": compare(flags, device), **sizes, "device": device_name(device)}


def compare(flags: Flags, device: torch.device) -> dict[str, dict[str, Any]]:
    """The lengths of `measure`."""
    lengths = {}
    for length in flags.lengths:
        scans: dict[str, Callable[..., Tensor]] = {"reference": reference}
        if scan_backend(device).name == "kernel":
            scans["kernel"] = kernel
        if length <= flags.loop_up_to:
            scans["loop"] = loop
        passes = {name: Pass(scan, length, flags, device) for name, scan in scans.items()}
        seconds = interleaved_seconds(passes, flags.repeats, device)
        lengths[str(length)] = {
            name: {
                "seconds": median(seconds[name]),
                "peak_gb": peak_bytes(passes[name], device) / 1e9,
                "loop_to_it": paired_ratio(seconds["loop"], seconds[name]) if "loop" in seconds else None,
            }
            for name in scans
        }
    return lengths


def markdown(figures: Mapping[str, Any]) -> str:
    """The figures as a page."""
    lines = [
        "# Selective scan: forward and backward pass",
        "",
        f"{figures['rows']} sequences, {figures['dim']} channels, {figures['state']} states, float32, on "
        f"{figures['device']}; torch {figures['versions']['torch']}. `{figures['command']}`",
        "",
        "| tokens | scan | seconds | times as fast as the loop | peak memory, GB |",
        "|---|---|---|---|---|",
    ]
    for length, scans in figures["lengths"].items():
        for name, scan in scans.items():
            ratio = "–" if scan["loop_to_it"] is None else f"{scan['loop_to_it']:.1f}"
            lines.append(f"| {int(length):,} | {name} | {scan['seconds']:.3f} | {ratio} | {scan['peak_gb']:.2f} |")
    return "\n".join(lines) + "\n"


BENCHMARK = Benchmark("benchmarks.scan", Flags, measure, markdown)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
