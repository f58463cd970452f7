"""The module inside what compiles it."""

import torch
from torch import nn

from vtr_core.embedding.collectives import bare


def test_a_compiled_model_is_found() -> None:
    model = nn.Linear(2, 3)
    assert bare(model) is model
    compiled = torch.compile(model)
    assert isinstance(compiled, nn.Module)
    assert compiled is not model
    assert bare(compiled) is model
