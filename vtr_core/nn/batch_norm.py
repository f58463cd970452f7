"""Batch normalisation over the present rows of the whole batch, across workers."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

Total = Callable[[Tensor], Tensor]
"""The sum of a vector over the workers that share the batch, with gradient."""


def _own(values: Tensor) -> Tensor:
    return values


class PresentBatchNorm(nn.Module):
    """y = γ (x − μ) / √(σ² + ε) + β, in training with μ and σ² of the present rows of all workers (Ioffe et al. 2015).

    In evaluation, and where a batch has fewer than two present rows, μ and σ² are running averages, those of σ²
    unbiased, as in torch's BatchNorm1d. Sums are taken in float64. Rows that are not present give exactly 0 and do not
    enter the statistics. A dimension whose batch statistics are not finite keeps its running averages.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, dim: int, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("variance", torch.ones(dim))
        self.total: Total = _own
        self._momentum, self._eps = momentum, eps

    def forward(self, values: Float[Tensor, "rows dim"], present: Bool[Tensor, " rows"]) -> Float[Tensor, "rows dim"]:
        """The normalised rows, in float32 or more."""
        values = torch.where(present.unsqueeze(1), values.to(self.weight), 0)
        mean, variance = self._statistics(values, present) if self.training else (self.mean, self.variance)
        scaled = (values - mean) * torch.rsqrt(variance + self._eps) * self.weight + self.bias
        return torch.where(present.unsqueeze(1), scaled, 0)

    def _statistics(
        self, values: Float[Tensor, "rows dim"], present: Bool[Tensor, " rows"]
    ) -> tuple[Float[Tensor, " dim"], Float[Tensor, " dim"]]:
        exact = values.double()
        sums = torch.cat([present.sum().double().unsqueeze(0), exact.sum(dim=0), exact.square().sum(dim=0)])
        sums = self.total(sums)
        count = sums[0]
        mean, square = (sums[1:] / count.clamp(min=1)).chunk(2)
        variance = (square - mean.square()).clamp(min=0)
        self._remember(mean.detach(), variance.detach() * count / (count - 1).clamp(min=1), count)
        enough = count > 1
        return (
            torch.where(enough, mean.to(values), self.mean),
            torch.where(enough, variance.to(values), self.variance),
        )

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor, count: Tensor) -> None:
        usable = (count > 1) & torch.isfinite(mean) & torch.isfinite(variance)
        for kept, now in ((self.mean, mean), (self.variance, variance)):
            kept.copy_(torch.where(usable, torch.lerp(kept, now.to(kept), self._momentum), kept))


def share_statistics(model: nn.Module, total: Total) -> None:
    """Let every `PresentBatchNorm` of `model` take its statistics over all workers; `total` sums a vector over them."""
    for module in model.modules():
        if isinstance(module, PresentBatchNorm):
            module.total = total
