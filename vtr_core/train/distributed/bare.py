"""A model without what distributes and compiles it."""

from torch import nn
from torch.nn.parallel import DistributedDataParallel


def bare(model: nn.Module) -> nn.Module:
    """The module inside DDP and torch.compile."""
    found = model.module if isinstance(model, DistributedDataParallel) else model
    inside = getattr(found, "_orig_mod", found)
    assert isinstance(inside, nn.Module)
    return inside
