"""The optimiser of BERT's published code (Devlin et al. 2019), which CLIP4Clip (Luo et al. 2021) trains with."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer


class BertAdam(Optimizer):
    """m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², w ← w − η (m / (√v + ε) + λ w).

    Adam without bias corrections: with both means beginning at 0, the first step is (1 − β₁) / √(1 − β₂) times as long
    as Adam's, 0.71 with β = (0.9, 0.98). The weight decay λ of a group is decoupled from both means. Each step follows
    from the weights, the gradients and both means alone, so that a state has no counter of steps.
    """

    def __init__(
        self,
        params: Iterable[dict[str, Any]],
        lr: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One step down the gradients; parameters without one stay as they are."""
        assert closure is None, "gradients are computed before"
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._update(weight, weight.grad, group)

    def _update(self, weight: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state, (beta1, beta2) = self.state[weight], group["betas"]
        if not state:
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(weight), torch.zeros_like(weight)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.mul_(beta1).add_(gradient, alpha=1 - beta1)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        update = mean / square.sqrt().add_(group["eps"])
        weight.sub_(update.add_(weight, alpha=group["weight_decay"]), alpha=group["lr"])
