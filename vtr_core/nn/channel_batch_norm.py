"""Batch normalisation of feature maps, over the images of all workers."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.nn.batch_norm import Total


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


def share_channels(model: nn.Module, total: Total) -> None:
    """Let every `ChannelBatchNorm` of `model` take its statistics over all workers; `total` sums a vector over them."""
    for module in model.modules():
        if isinstance(module, ChannelBatchNorm):
            module.total = total
