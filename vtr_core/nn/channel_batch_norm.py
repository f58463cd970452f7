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
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        assert self.momentum is not None
        mean, variance = self.running_mean.clone(), self.running_var.clone()
        normalised = F.batch_norm(maps, mean, variance, self.weight, self.bias, True, self.momentum, self.eps)
        self.num_batches_tracked.add_(1)
        self._keep_finite(mean, variance)
        return normalised

    def _shared(self, maps: Tensor) -> tuple[Float[Tensor, " channels"], Float[Tensor, " channels"]]:
        assert self.total is not None
        values = maps.float() if maps.dtype in (torch.float16, torch.bfloat16) else maps
        variance, mean = torch.var_mean(values, dim=(0, 2, 3), correction=0)
        count = mean.new_tensor([maps.numel() / max(1, maps.shape[1])], dtype=torch.float64)
        sums = torch.cat([count, count * mean.double(), count * (variance.double() + mean.double().square())])
        whole = self.total(sums)
        mean, square = (whole[1:] / whole[0].clamp(min=1)).chunk(2)
        variance = (square - mean.square()).clamp(min=0)
        self._remember(mean.detach(), variance.detach() * whole[0] / (whole[0] - 1).clamp(min=1))
        return mean.to(values), variance.to(values)

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        assert self.momentum is not None
        self.num_batches_tracked.add_(1)
        self._keep_finite(
            self.running_mean.lerp(mean.to(self.running_mean), self.momentum),
            self.running_var.lerp(variance.to(self.running_var), self.momentum),
        )

    @torch.no_grad()
    def _keep_finite(self, mean: Tensor, variance: Tensor) -> None:
        """Take new running averages, of the channels where both are finite."""
        assert self.running_mean is not None
        assert self.running_var is not None
        usable = torch.isfinite(mean) & torch.isfinite(variance)
        self.running_mean.copy_(torch.where(usable, mean, self.running_mean))
        self.running_var.copy_(torch.where(usable, variance, self.running_var))


def share_channels(model: nn.Module, total: Total) -> None:
    """Let every `ChannelBatchNorm` of `model` take its statistics over all workers; `total` sums a vector over them."""
    for module in model.modules():
        if isinstance(module, ChannelBatchNorm):
            module.total = total
