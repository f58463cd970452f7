"""Does EM routing survive a long training? Every loss, gradient and weight of thousands of steps is looked at."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import torch
from torch import nn

from benchmarks.training_step import objective_of
from vtr_core.config.override import override
from vtr_core.data.batches import ClipBatch, clip_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan
from vtr_core.data.reading.feature_statistics import feature_statistics
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.stream.assemble import assemble
from vtr_core.run.build import build_model
from vtr_core.run.config import TrainConfig
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.train.optimizer import build_optimizer


@dataclass(frozen=True)
class Stability:
    """What a training with EM routing came to; losses are means over its first and its last hundred steps."""

    steps: int
    capsules: int
    rows: int
    learning_rate: float
    nonfinite: tuple[str, ...]
    """Step and name of the first hundred losses, gradients and weights that were not finite."""
    first_loss: float
    last_loss: float
    largest_gradient_norm: float
    seconds: float


def train_em(data: str, steps: int, capsules: int, rows: int) -> Stability:
    """Train on a data set's clips for `steps` steps at a constant learning rate, without gradient clipping."""
    manifest = Manifest.load(data)
    config = with_inputs(_config(capsules, rows), manifest)
    torch.manual_seed(0)
    model = build_model(config.model, None, feature_statistics(manifest))
    optimizer, began = build_optimizer(model, config.optimizer), perf_counter()
    objective = objective_of(config)
    losses, norms, faults = [], [], []
    for step, batch in zip(range(steps), _batches(manifest, config), strict=False):
        loss = objective(model(batch), batch.keys, step).total
        optimizer.zero_grad()
        loss.backward()
        norms.append(nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None]).item())
        optimizer.step()
        losses.append(loss.item())
        faults += [f"step {step}: {name}" for name in _nonfinite(model, loss)]
    return Stability(
        steps=steps,
        capsules=capsules,
        rows=rows,
        learning_rate=config.optimizer.learning_rate,
        nonfinite=tuple(faults[:100]),
        first_loss=sum(losses[:100]) / len(losses[:100]),
        last_loss=sum(losses[-100:]) / len(losses[-100:]),
        largest_gradient_norm=max(norms),
        seconds=perf_counter() - began,
    )


def _config(capsules: int, rows: int) -> TrainConfig:
    changes = {
        "model.num_capsules": capsules,
        "batch.videos": rows // 4,
        "batch.clips_per_video": 4,
        "optimizer.schedule": "constant",
        "scaling.workers": 1,
    }
    return override(preset("capsule-howto-tiny-routing-em"), changes)


def _batches(manifest: Manifest, config: TrainConfig) -> Iterator[ClipBatch]:
    """Batch after batch of the plan, epoch after epoch."""
    plan = Plan(manifest, config.batch, config.seed)
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    window = 0
    while True:
        for columns in assemble(reader, plan.row_groups, plan.window(window)):
            yield clip_batch(columns, list(config.model.inputs.features))
        window += 1


def _nonfinite(model: nn.Module, loss: torch.Tensor) -> list[str]:
    named = [("loss", loss)]
    for name, parameter in model.named_parameters():
        named += [(name, parameter), (f"gradient of {name}", parameter.grad if parameter.grad is not None else loss)]
    return [name for name, value in named if not value.isfinite().all()]
