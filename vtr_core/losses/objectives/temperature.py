"""The temperature of a softmax loss, fixed or learned."""

from math import log

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.config.losses.contrastive import TemperatureConfig


class Temperature(nn.Module):
    """1/τ, as a constant or as exp of the parameter log(1/τ), which never exceeds log(max_scale) (Radford et al. 2021).

    The parameter itself is clamped in place before every use, as in CLIP: if only its value in the loss were clamped, a
    parameter above the limit would get no gradient and never come back below it.
    """

    def __init__(self, config: TemperatureConfig) -> None:
        super().__init__()
        self._fixed = config.temperature
        self._max_log_scale = log(config.max_scale)
        self.log_scale: nn.Parameter | None
        if config.learnable_temperature:
            self.log_scale = nn.Parameter(torch.tensor(-log(config.temperature)))
        else:
            self.register_parameter("log_scale", None)

    def forward(self, like: Tensor) -> Float[Tensor, ""]:
        """1/τ in the precision and on the device of `like`."""
        if self.log_scale is None:
            return like.new_tensor(1 / self._fixed)
        with torch.no_grad():
            self.log_scale.clamp_(max=self._max_log_scale)
        return self.log_scale.to(like).exp()

    def metrics(self) -> dict[str, Tensor]:
        """τ, where it is learned."""
        return {} if self.log_scale is None else {"temperature": (-self.log_scale.detach()).exp()}
