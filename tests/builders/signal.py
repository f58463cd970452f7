"""Signal propagation through a model with fresh weights: differences between rows forward, gradients backward."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import torch
from torch import nn

from vtr_core.analysis.effective_dimension import row_share, score_deviation
from vtr_core.data.reading.row_groups import Columns
from vtr_core.systems.implementation import Task

LEAST_SHARE = 0.3
"""Smallest acceptable share of a modality's energy that differs between rows."""
DEVIATIONS = (0.3, 3.0)
"""Acceptable standard deviations of similarities, in units of the loss's temperature or margin."""
GRADIENTS = (1e-2, 1e2)
"""Acceptable gradient norms of a layer, relative to the median layer's."""


@dataclass(frozen=True)
class Signal:
    """Signal propagation through a model for one batch."""

    shares: Mapping[str, float]
    """By modality: the share of the vectors' energy that differs between rows."""
    deviations: Mapping[str, float]
    """By pair of modalities: the standard deviation of similarities within rows, in units of the loss's temperature or
    margin."""
    gradients: Mapping[str, float]
    """By layer: the gradient norm relative to the median layer's."""
    is_bounded: bool
    """Whether those are similarities of vectors of length 1 over a margin, which have a deviation of their own."""

    def faults(self) -> list[str]:
        """The values out of bounds, one line each."""
        shares = [f"{name}: share {value:.4f}" for name, value in self.shares.items() if value < LEAST_SHARE]
        deviations = [
            f"{name}: similarities deviate by {value:.2g}"
            for name, value in self.deviations.items()
            if not self.is_bounded and not DEVIATIONS[0] <= value <= DEVIATIONS[1]
        ]
        gradients = [
            f"{name}: gradient {value:.2g} × the median"
            for name, value in self.gradients.items()
            if not GRADIENTS[0] <= value <= GRADIENTS[1]
        ]
        return [*shares, *deviations, *gradients]


def measure(model: nn.Module, task: Task, columns: Columns) -> Signal:
    """The signal of one training step on `columns`, without dropout; leaves the step's gradients in the model."""
    model.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.eval()
    output = task.step(model, columns, 0, torch.device("cpu"))
    model.zero_grad(set_to_none=True)
    output.loss.backward()
    compared = output.compared
    return Signal(
        shares={name: row_share(vectors) for name, vectors in compared.vectors.items()},
        deviations={name: score_deviation(scores()) for name, scores in compared.scores.items()},
        gradients=relative_gradients(model),
        is_bounded=compared.is_bounded,
    )


def relative_gradients(model: nn.Module) -> dict[str, float]:
    """By layer (a module with parameters of its own): the gradient norm relative to the median layer's."""
    norms = {name: _norm(module) for name, module in model.named_modules() if _trained(module)}
    middle = median(norms.values()) if norms else 0.0
    return {name: norm / middle if middle else 0.0 for name, norm in norms.items()}


def _trained(module: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in module.parameters(recurse=False) if parameter.requires_grad]


def _norm(module: nn.Module) -> float:
    gradients = [parameter.grad for parameter in _trained(module) if parameter.grad is not None]
    return float(torch.stack([gradient.norm() for gradient in gradients]).norm()) if gradients else 0.0
