"""Normalisation of features: over the present rows or images of all workers, or by known statistics."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vtr_core.data.reading.feature_statistics import FeatureStatistics

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
        for average, latest in ((self.mean, mean), (self.variance, variance)):
            average.copy_(torch.where(usable, torch.lerp(average, latest.to(average), self._momentum), average))


class ChannelBatchNorm(nn.BatchNorm2d):
    """Synchronised batch norm: torch's BatchNorm2d with μ and σ² over the images of all workers, where `total` is set.

    Without `total` it is torch's own. With it every worker's mean and variance are turned into sums in float64, whose
    totals give the statistics of the whole batch. Running averages are of these, with an unbiased σ² as in torch; a
    channel whose statistics are not finite keeps its averages, with `total` and without.
    """

    total: Total | None = None

    def forward(self, input: Float[Tensor, "batch channels rows columns"]) -> Float[Tensor, "batch channels _ _"]:
        """The normalised maps."""
        if not self.training:
            return super().forward(input)
        if self.total is None:
            return self._alone(input)
        mean, variance = self._shared(input)
        scale = (self.weight * torch.rsqrt(variance + self.eps)).to(input.dtype)
        shift = (self.bias - mean * self.weight * torch.rsqrt(variance + self.eps)).to(input.dtype)
        return input * scale[:, None, None] + shift[:, None, None]

    def _alone(self, maps: Tensor) -> Tensor:
        assert self.momentum is not None
        mean, variance = (averages.clone() for averages in self._averages())
        normalised = F.batch_norm(maps, mean, variance, self.weight, self.bias, True, self.momentum, self.eps)
        self._renew(mean, variance)
        return normalised

    def _shared(self, maps: Tensor) -> tuple[Float[Tensor, " channels"], Float[Tensor, " channels"]]:
        assert self.total is not None
        assert self.momentum is not None
        values = maps.float() if maps.dtype in (torch.float16, torch.bfloat16) else maps
        variance, mean = torch.var_mean(values, dim=(0, 2, 3), correction=0)
        count = mean.new_tensor([maps.numel() / max(1, maps.shape[1])], dtype=torch.float64)
        sums = torch.cat([count, count * mean.double(), count * (variance.double() + mean.double().square())])
        whole = self.total(sums)
        mean, square = (whole[1:] / whole[0].clamp(min=1)).chunk(2)
        variance = (square - mean.square()).clamp(min=0)
        unbiased = variance * whole[0] / (whole[0] - 1).clamp(min=1)
        pairs = zip(self._averages(), (mean, unbiased), strict=True)
        self._renew(*(averages.lerp(now.detach().to(averages), self.momentum) for averages, now in pairs))
        return mean.to(values), variance.to(values)

    def _averages(self) -> tuple[Tensor, Tensor]:
        assert self.running_mean is not None
        assert self.running_var is not None
        return self.running_mean, self.running_var

    @torch.no_grad()
    def _renew(self, mean: Tensor, variance: Tensor) -> None:
        """Count a batch, and take its running averages, of the channels where both are finite."""
        assert self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        usable = torch.isfinite(mean) & torch.isfinite(variance)
        for averages, now in zip(self._averages(), (mean, variance), strict=True):
            averages.copy_(torch.where(usable, now, averages))


def share_statistics(
    model: nn.Module, total: Total, kind: type[PresentBatchNorm | ChannelBatchNorm] = PresentBatchNorm
) -> None:
    """Let every module of `kind` take its statistics over all workers; `total` sums a vector over them."""
    for module in model.modules():
        if isinstance(module, kind):
            module.total = total


class Standardization(nn.Module):
    """(f − mean) / std per dimension, with the training data's mean and standard deviation.

    Both are buffers: not trained, but saved with the model. Until they are loaded the features stay as they are.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("std", torch.ones(dim))

    def load(self, statistics: FeatureStatistics) -> None:
        """Take the statistics of a data set."""
        self.mean.copy_(torch.from_numpy(statistics.mean))
        self.std.copy_(torch.from_numpy(statistics.std))

    def forward(self, features: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch dim"]:
        """The standardised features."""
        return (features - self.mean) / self.std
