"""What routing to face capsules costs on a CPU: as it is, and written out with autograd through every round.

python -m benchmarks.routing --faces 16 [--repeats 20]
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.training_step import interleaved_seconds, paired_ratio, peak_bytes
from vtr_core.nn.capsules.capsule_tower import ConvolutionalCapsules, RoutedCapsules

FACES, FACE_DIM, ITERATIONS = 32, 16, 4
CHANNELS, TYPES, DIM = 256, 32, 8
PLACES = {"100 x 100": (31, 12), "42 x 42": (12, 2)}
"""Of images: the side of the first convolution's maps, and of the primary capsules' grid."""


@dataclass(frozen=True)
class _Step:
    """Forward and backward pass."""

    forward: Callable[[Tensor], Tensor]
    given: Tensor

    def __call__(self) -> None:
        self.given.grad = None
        self.forward(self.given).square().sum().backward()

    def held_bytes(self) -> int:
        """What is given, which lives all the time."""
        return self.given.nbytes


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


def compare_faces(rows: int, repeats: int) -> dict[str, Any]:
    """Median seconds and peak memory of routing both ways, and of primary capsules in both layouts of memory."""
    device, found = torch.device("cpu"), {}
    for name, (maps, places) in PLACES.items():
        torch.manual_seed(0)
        inputs = TYPES * places * places
        layer = RoutedCapsules(inputs, DIM, FACES, FACE_DIM, ITERATIONS, "tanh", "outputs")
        poses = torch.randn(rows, inputs, DIM).tanh().requires_grad_()
        torch.testing.assert_close(layer(poses), straightforward(layer, poses), atol=1e-4, rtol=1e-3)
        plain, last = _convolutions(rows, maps)
        steps = {
            "routing": _Step(layer, poses),
            "straightforward": _Step(partial(straightforward, layer), poses),
            "primary, channels last": last,
            "primary, channels first": plain,
        }
        seconds = interleaved_seconds(steps, repeats, device)
        found[name] = {
            "seconds": {step: median(values) for step, values in seconds.items()},
            "peak_gb": {step: peak_bytes(steps[step], device) / 1e9 for step in ("routing", "straightforward")},
            "routing_faster": paired_ratio(seconds["straightforward"], seconds["routing"]),
            "channels_last_faster": paired_ratio(seconds["primary, channels first"], seconds["primary, channels last"]),
        }
    return {"rows": rows, "sizes": found}


def _convolutions(rows: int, side: int) -> tuple[_Step, _Step]:
    """Primary capsules of the same weights with channels first, and with channels last."""
    primary = ConvolutionalCapsules(CHANNELS, TYPES, DIM, "tanh")
    maps = torch.randn(rows, CHANNELS, side, side)
    last: nn.Module = ConvolutionalCapsules(CHANNELS, TYPES, DIM, "tanh")
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
    for name, found in figures["sizes"].items():
        seconds, peak = found["seconds"], found["peak_gb"]
        cells = [
            f"{seconds['routing']:.3f}",
            f"{seconds['straightforward']:.3f}",
            f"{found['routing_faster']:.1f}",
            f"{peak['routing']:.2f}",
            f"{peak['straightforward']:.2f}",
            f"{seconds['primary, channels last']:.3f}",
            f"{seconds['primary, channels first']:.3f}",
            f"{found['channels_last_faster']:.1f}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])
