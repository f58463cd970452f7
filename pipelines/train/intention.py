"""The summary before a training: rows, steps, parameters, memory of weights and optimiser."""

import math
from collections.abc import Mapping, Sequence

import psutil

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import Plan
from vtr_core.errors import ConfigError
from vtr_core.run.config import TrainConfig

_FLOAT32 = 4


def state_bytes(config: TrainConfig, shapes: Mapping[str, Sequence[int]]) -> int:
    """Bytes of weights, gradients and Adam's moments of one worker, in float32; a lower bound of what training needs.

    shapes: of all weights and buffers. Weights, gradients, two moments, one more with AMSGrad, one more with a moving
    average. Activations, which depend on the batch, come on top.
    """
    copies = 4 + config.optimizer.amsgrad + (config.training.ema_decay is not None)
    return copies * _FLOAT32 * sum(map(math.prod, shapes.values()))


def require_memory(config: TrainConfig, shapes: Mapping[str, Sequence[int]], there: int | None = None) -> None:
    """ConfigError where a training in this process cannot hold its weights; there: bytes of memory (default: all)."""
    needed, has = state_bytes(config, shapes), psutil.virtual_memory().total if there is None else there
    if config.scaling.workers == 0 and config.scaling.device != "gpu" and needed > has:
        largest = max(shapes, key=lambda name: math.prod(shapes[name]))
        raise ConfigError(
            f"the model cannot be trained here: its weights, gradients and moments alone take {_size(needed)}, and "
            f"this machine has {_size(has)}; the largest weight is {largest} {tuple(shapes[largest])}: choose less "
            f"(vtr train {config.preset} --help), or a machine with more memory"
        )


def intention(
    config: TrainConfig, data: Manifest, validation: Manifest | None, plan: Plan, shapes: Mapping[str, Sequence[int]]
) -> list[str]:
    """Lines for the terminal, before anything starts."""
    from vtr_core.train.job import total_steps

    steps, batch = total_steps(config, plan), config.batch
    judged = "no validation" if validation is None else f"validation on {validation.rows:,} rows"
    rows = f"{batch.rows:,} rows a step, {batch.videos:,} videos × {batch.clips_per_video:,}"
    workers = config.scaling.workers
    where = "in this process" if workers == 0 else f"{workers} worker{'s' if workers > 1 else ''}"
    return [
        f"data    {data.rows:,} rows of {data.videos:,} videos; {judged}",
        f"steps   {steps:,}, {plan.steps_per_epoch:,} an epoch; {rows}; {where}",
        f"model   {sum(map(math.prod, shapes.values())):,} weights; with gradients and moments "
        f"{_size(state_bytes(config, shapes))} a worker, and activations",
    ]


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
