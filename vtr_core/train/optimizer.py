"""The optimiser and its learning rate as a function of the step."""

import math

from torch import nn
from torch.optim import AdamW, Optimizer

from vtr_core.config.train import OptimizerConfig


def build_optimizer(model: nn.Module, config: OptimizerConfig) -> Optimizer:
    """Adam, with decoupled weight decay on matrices where it is not 0 (biases, norms and word vectors have none)."""
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    decayed = [p for p in trained if p.ndim >= 2 and id(p) not in embeddings]
    kept = [p for p in trained if p.ndim < 2 or id(p) in embeddings]
    groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": kept, "weight_decay": 0.0}]
    return AdamW([group for group in groups if group["params"]], lr=config.learning_rate)


def learning_rate_at(
    config: OptimizerConfig, step: int, total_steps: int, steps_per_epoch: int = 1, plateaus: int = 0
) -> float:
    """The rate of optimiser step `step` (from 0): the schedule's, after so many epochs and plateaus of validation.

    schedule · epoch_decay^⌊epoch / decay_epochs⌋ · plateau_decay^plateaus, with the epoch ⌊step / steps_per_epoch⌋. All
    of it is a function of the configuration and of what a checkpoint holds, so a resumed run has the same rates.
    """
    decays = step // steps_per_epoch // config.decay_epochs
    return _scheduled(config, step, total_steps) * config.epoch_decay**decays * config.plateau_decay**plateaus


def _scheduled(config: OptimizerConfig, step: int, total_steps: int) -> float:
    """A linear warm-up, then constant or half a cosine down to 0."""
    if step < config.warmup_steps:
        return config.learning_rate * (step + 1) / config.warmup_steps
    if config.schedule == "constant":
        return config.learning_rate
    progress = (step - config.warmup_steps) / max(1, total_steps - config.warmup_steps)
    return config.learning_rate * 0.5 * (1.0 + math.cos(math.pi * min(1.0, progress)))
