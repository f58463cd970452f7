"""Layers whose initial weights are uniform within ±1/√in, the usual choice for recurrent and convolutional encoders.

The rule is torch's default, written out so that a model's initialisation is explicit, and drawn in torch's order, so
that a seed gives the same weights as the default does.
"""

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

L = TypeVar("L", bound=nn.Module)
F = TypeVar("F", nn.Linear, nn.Conv1d, nn.Conv2d)


def fan_in_linear(in_dim: int, out_dim: int) -> nn.Linear:
    """W_ij, b_i ~ U(−1/√in, 1/√in)."""
    return _filled(_empty(lambda: nn.Linear(in_dim, out_dim)))


def fan_in_convolution(in_dim: int, filters: int, width: int, padding: int) -> nn.Conv1d:
    """W, b ~ U(−1/√(in · width), 1/√(in · width))."""
    return _filled(_empty(lambda: nn.Conv1d(in_dim, filters, width, padding=padding)))


def fan_in_convolution_2d(in_dim: int, filters: int, width: int, stride: int = 1, padding: int = 0) -> nn.Conv2d:
    """W, b ~ U(−1/√(in · width²), 1/√(in · width²))."""
    return _filled(_empty(lambda: nn.Conv2d(in_dim, filters, width, stride, padding)))


def bidirectional_gru(in_dim: int, hidden_dim: int) -> nn.GRU:
    """All weights and biases ~ U(−1/√hidden, 1/√hidden), of one layer in both directions; batches come first."""
    layer = _empty(lambda: nn.GRU(in_dim, hidden_dim, batch_first=True, bidirectional=True))
    bound = 1 / sqrt(hidden_dim)
    for values in layer.parameters():
        nn.init.uniform_(values, -bound, bound)
    return layer


def embedding(num_words: int, dim: int, padding: int, bound: float | None = None) -> nn.Embedding:
    """Word vectors of standard normal numbers, or ~ U(±bound); 0 for padding."""
    layer = nn.Embedding(num_words, dim, padding_idx=padding, _weight=torch.empty(num_words, dim), _freeze=False)
    if bound is None:
        nn.init.normal_(layer.weight)
    else:
        nn.init.uniform_(layer.weight, -bound, bound)
    with torch.no_grad():
        layer.weight[padding].fill_(0)
    return layer


def _empty(make: Callable[[], L]) -> L:
    """The layer that `make` builds, with uninitialised weights and without a draw from torch's random generator."""
    with _Undrawn():
        return make()


class _Undrawn(TorchFunctionMode):
    """Skips the uniform draws with which torch initialises new layers."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if func in (nn.init.uniform_, nn.init.kaiming_uniform_, Tensor.uniform_):
            return args[0] if args else given["tensor"]
        return func(*args, **given)


def _filled(layer: F) -> F:
    """The layer with W, b ~ U(−1/√in, 1/√in), which is He's uniform rule at slope √5."""
    assert layer.bias is not None
    nn.init.kaiming_uniform_(layer.weight, a=sqrt(5))
    bound = 1 / sqrt(layer.weight[0].numel())
    nn.init.uniform_(layer.bias, -bound, bound)
    return layer
