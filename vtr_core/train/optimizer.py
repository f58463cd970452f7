"""The optimiser, BERT's Adam among them, and its learning rate as a function of the step."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from vtr_core.config.run import OptimizerConfig
from vtr_core.losses.objective import Temperature
from vtr_core.nn.backbone import Backbone


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


_CONFIGURED = ("weight_decay", "rate_factor", "fused")


def build_optimizer(model: nn.Module, config: OptimizerConfig) -> Optimizer:
    """Adam or BERT's, with decoupled weight decay on matrices where it is not 0, in groups with a `rate_factor` each.

    Biases (also of relative positions), norms, word vectors and the decays A of state space models have no weight
    decay: modules name such matrices of theirs by `undecayed()`. Factors of the learning rate: `learner_factor` for
    modules that have it (`has_learner_factor`), `temperature_factor` for a learned temperature, and
    backbone_factor · layer_decay^(L − l) for layer l of the L layers of a backbone. Adam's step is torch's fused one,
    which passes over weights, gradients and moments once.
    """
    exempt = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    exempt |= {id(parameter) for module in model.modules() for parameter in getattr(module, "undecayed", list)()}
    parts = _parts(model, config)
    own = {id(parameter) for _, parameters in parts for parameter in parameters}
    rest = [parameter for parameter in model.parameters() if id(parameter) not in own]
    groups = [
        {
            "params": chosen,
            "weight_decay": config.weight_decay if decays else 0.0,
            "rate_factor": factor * width_factor,
        }
        for factor, parameters in ((1.0, rest), *parts)
        for decays in (True, False)
        for width_factor, chosen in _by_width(
            [p for p in parameters if p.requires_grad and (p.ndim >= 2 and id(p) not in exempt) == decays],
            config.full_rate_width if decays else None,
        )
    ]
    used = [group for group in groups if group["params"]]
    betas = config.beta1, config.beta2
    if config.algorithm == "bert_adam":
        return BertAdam(used, lr=config.learning_rate, betas=betas, eps=config.epsilon)
    return AdamW(used, lr=config.learning_rate, betas=betas, eps=config.epsilon, amsgrad=config.amsgrad, fused=True)


def _parts(model: nn.Module, config: OptimizerConfig) -> list[tuple[float, list[nn.Parameter]]]:
    """The parameters with a rate factor of their own, in the order of the groups of earlier checkpoints.

    Except for what learns over tokens, parts whose factor is 1 stay with the rest, as before there were factors.
    """
    parts = [(config.learner_factor, _within(model, lambda module: getattr(module, "has_learner_factor", False)))]
    if config.temperature_factor != 1:
        parts.append((config.temperature_factor, _within(model, lambda module: isinstance(module, Temperature))))
    return [*parts, *_backbone_layers(model, config)]


def _backbone_layers(model: nn.Module, config: OptimizerConfig) -> list[tuple[float, list[nn.Parameter]]]:
    """The backbone's parameters layer by layer, each with its rate factor; none where it is 1 throughout."""
    if config.backbone_factor == 1 and config.layer_decay == 1:
        return []
    layers_by_factor: dict[float, list[nn.Parameter]] = {}
    for backbone in (module for module in model.modules() if isinstance(module, Backbone)):
        layers = backbone.layers_by_depth()
        for number, layer in enumerate(layers, start=1):
            factor = config.backbone_factor * config.layer_decay ** (len(layers) - number)
            layers_by_factor.setdefault(factor, []).extend(layer)
    return list(layers_by_factor.items())


def _within(model: nn.Module, belongs: Callable[[nn.Module], bool]) -> list[nn.Parameter]:
    members = {id(p) for module in model.modules() if belongs(module) for p in module.parameters()}
    return [parameter for parameter in model.parameters() if id(parameter) in members]


def _by_width(
    parameters: Sequence[nn.Parameter], full_rate_width: int | None
) -> list[tuple[float, Sequence[nn.Parameter]]]:
    """Parameters grouped by rate factor: min(1, full_rate_width / in) for matrices (out, in), 1 for others."""
    if full_rate_width is None:
        return [(1.0, parameters)]
    factors = [min(1.0, full_rate_width / p.shape[1]) if p.ndim == 2 else 1.0 for p in parameters]
    return [
        (factor, [p for p, own in zip(parameters, factors, strict=True) if own == factor])
        for factor in sorted(set(factors), reverse=True)
    ]


def set_learning_rate(optimizer: Optimizer, rate: float) -> None:
    """Use `rate`, times each group's factor, from the next update on."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group["rate_factor"]


def load_state(optimizer: Optimizer, state: dict[str, Any]) -> None:
    """Load the state of an earlier optimiser of the same parameters; weight decay and factors stay as configured.

    They may differ: a trial of a sweep may continue from another trial's weights. Moments are given their parameters'
    memory layout, which the fused step assumes.
    """
    configured = [{name: group[name] for name in _CONFIGURED if name in group} for group in optimizer.param_groups]
    optimizer.load_state_dict(state)
    for group, values in zip(optimizer.param_groups, configured, strict=True):
        group.update(values)
    for parameter, moments in optimizer.state.items():
        for name, value in moments.items():
            moments[name] = value.to(parameter.device) if value.ndim == 0 else torch.empty_like(parameter).copy_(value)


def learning_rate_at(
    config: OptimizerConfig, step: int, total_steps: int, steps_per_epoch: int = 1, plateaus: int = 0
) -> float:
    """The learning rate of optimiser step `step` (from 0): the schedule's, decayed by epochs and plateaus.

    schedule · epoch_decay^⌊epoch / decay_epochs⌋ · plateau_decay^plateaus, with the epoch ⌊step / steps_per_epoch⌋. It
    depends only on the configuration and on what a checkpoint holds, so a resumed run has the same rates.
    """
    decays = step // steps_per_epoch // config.decay_epochs
    return _scheduled(config, step, total_steps) * config.epoch_decay**decays * config.plateau_decay**plateaus


def _scheduled(config: OptimizerConfig, step: int, total_steps: int) -> float:
    """A linear warm-up, then constant, half a cosine down to 0, or the rate over √t (Reddi et al. 2018)."""
    warmup = config.warmup(total_steps)
    if config.schedule == "bert_cosine":
        return config.learning_rate * (step / warmup if step < warmup else _half_cosine(step / max(1, total_steps)))
    if step < warmup:
        return config.learning_rate * min(1.0, (step + 1) / warmup)
    if config.schedule == "constant":
        return config.learning_rate
    if config.schedule == "inverse_sqrt":
        return config.learning_rate / math.sqrt(step - warmup + 1)
    return config.learning_rate * _half_cosine((step - warmup) / max(1, total_steps - warmup))


def _half_cosine(progress: float) -> float:
    return 0.5 * (1.0 + math.cos(math.pi * min(1.0, progress)))


def clip_gradients(parameters: Sequence[nn.Parameter], config: OptimizerConfig) -> Tensor:
    """Scale the gradient down to the norm `gradient_clip`, then each parameter's to `parameter_clip`.

    Returns the norm of the whole gradient before both.
    """
    norm = nn.utils.clip_grad_norm_(parameters, config.gradient_clip or math.inf)
    if config.parameter_clip is not None:
        for parameter in parameters:
            nn.utils.clip_grad_norm_(parameter, config.parameter_clip)
    return norm
