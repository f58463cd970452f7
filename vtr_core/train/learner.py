"""What learns in a run: the model, the loss's own parameters, and the moving average of the weights."""

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from vtr_core.config.train import TrainConfig
from vtr_core.train.checkpoint import Checkpoint, load_weights
from vtr_core.train.gather import average_gradients
from vtr_core.train.micro_batches import MicroBatches
from vtr_core.train.optimizer import build_optimizer
from vtr_core.train.run_folder import RunFolder


class Learner:
    """One worker's copy of everything that changes with a training step.

    distribute: wraps the module for data parallel training (DDP) and moves it to the worker's device.
    """

    def __init__(
        self, model: nn.Module, objective: nn.Module, config: TrainConfig, distribute: Callable[[nn.Module], nn.Module]
    ) -> None:
        self._config = config
        self._bare = model
        rows = config.batch.micro_rows
        self.model = distribute(model if rows is None else MicroBatches(model, rows))
        self.objective = objective.to(next(model.parameters()).device)
        self._optimizer = build_optimizer(nn.ModuleList([model, self.objective]), config.optimizer)
        decay = config.training.ema_decay
        self._average = None if decay is None else AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay))

    @property
    def evaluated(self) -> nn.Module:
        """The model that is validated and saved: the weights' moving average where one is kept."""
        return self._bare if self._average is None else self._average.module

    def set_learning_rate(self, rate: float) -> None:
        """Use `rate` from the next update on."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate

    def update(self, loss: Tensor) -> Tensor:
        """One optimiser step down the gradient of `loss`; the norm of the whole gradient before clipping."""
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        average_gradients(self.objective)
        parameters = [*self._bare.parameters(), *self.objective.parameters()]
        norm = nn.utils.clip_grad_norm_(parameters, self._config.optimizer.gradient_clip or math.inf)
        self._optimizer.step()
        if self._average is not None:
            self._average.update_parameters(self._bare)
        return norm

    def restore(self, found: Checkpoint, folder: RunFolder) -> None:
        """Go on from a checkpoint of this run."""
        load_weights(self._bare, found.trained or found.model, folder.checkpoints)
        load_weights(self.objective, found.objective, folder.checkpoints)
        self._optimizer.load_state_dict(found.optimizer)
        if self._average is not None:
            load_weights(self._average.module, found.model, folder.checkpoints)
            self._average.n_averaged.fill_(max(found.progress.step, 1))

    def state(self) -> dict[str, Any]:
        """The fields of a `Checkpoint` that change with a step: model, trained, objective, optimizer."""
        return {
            "model": _weights(self.evaluated),
            "trained": None if self._average is None else _weights(self._bare),
            "objective": _weights(self.objective),
            "optimizer": self._optimizer.state_dict(),
        }


def _weights(module: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in module.state_dict().items()}
