"""The training loop as a worker of Ray Train."""

from functools import partial
from typing import Any

import ray.train
import ray.train.torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from vtr_core.config.scaling import Wire
from vtr_core.data.stream.reading import stream
from vtr_core.train.distributed.gather import average_in_bf16
from vtr_core.train.fleet.placement import place_reading
from vtr_core.train.loop.channel import Channel
from vtr_core.train.loop.context import WorkerContext
from vtr_core.train.loop.worker import Worker


def train_worker(values: dict[str, Any]) -> bool:
    """Ray Train's entry point: one worker's part of the run, from the newest checkpoint on; see `Worker.run`."""
    place_reading(values["placed"])
    job = values["job"]
    return Worker(job, _context(values["channel"], job.config.scaling.wire)).run()


def _context(channel: Channel, wire: Wire) -> WorkerContext:
    context = ray.train.get_context()
    return WorkerContext(
        rank=context.get_world_rank(),
        world=context.get_world_size(),
        device=ray.train.torch.get_device(),
        channel=channel,
        stream=stream,
        distribute=partial(_distribute, wire=wire),
    )


def _distribute(model: nn.Module, wire: Wire) -> nn.Module:
    """DDP, except for a model without trainable parameters, which DDP refuses."""
    if not any(parameter.requires_grad for parameter in model.parameters()):
        return model.to(ray.train.torch.get_device())
    constant_buffers = {"broadcast_buffers": False}
    prepared = ray.train.torch.prepare_model(model, parallel_strategy_kwargs=constant_buffers)
    assert isinstance(prepared, nn.Module)
    if wire == "bf16" and isinstance(prepared, DistributedDataParallel):  # a single worker's is not wrapped
        prepared.register_comm_hook(None, average_in_bf16)
    return prepared
