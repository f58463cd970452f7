"""Precision of similarities and losses: float32 or more, or products of factors with fewer bits."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar, assert_never

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from vtr_core.config.losses import SimilarityPrecision

P = ParamSpec("P")
R = TypeVar("R")


def full_precision(function: Callable[P, R]) -> Callable[P, R]:
    """`function` with autocast off and its half-precision tensor arguments made float32; float64 stays float64."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        devices = {value.device.type for value in (*args, *kwargs.values()) if isinstance(value, Tensor)}
        with torch.autocast(devices.pop() if devices else "cpu", enabled=False):
            raised = {name: _raise(value) for name, value in kwargs.items()}
            return function(*(_raise(value) for value in args), **raised)  # type: ignore[arg-type]

    return wrapped


def at_least_float32(values: Tensor) -> Tensor:
    """`values` in float32 where they were float16 or bfloat16; float32 and float64 as they are."""
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def _raise(value: object) -> object:
    return at_least_float32(value) if isinstance(value, Tensor) else value


Product = Callable[[Tensor, Tensor], Tensor]
"""(a (rows, dim), b (items, dim)) → a bᵀ (rows, items)."""

_TF32_DROPPED = 13
"""Mantissa bits of float32 that TF32 lacks."""


def product(precision: SimilarityPrecision) -> Product:
    """The function a, b → a bᵀ in a precision; float64 factors are always multiplied in float64."""

    def transposed(a: Float[Tensor, "rows dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "rows items"]:
        if precision == "float32" or a.dtype != torch.float32:
            return a @ b.T
        rounded: Tensor = _Rounded.apply(a, b, precision)
        return rounded

    return transposed


class _Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, precision: SimilarityPrecision) -> Tensor:
        ctx.save_for_backward(a, b)
        ctx.precision = precision
        return _multiply(a, b.T, precision)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        a, b = ctx.saved_tensors
        to_a, to_b, _ = ctx.needs_input_grad
        return (
            _multiply(grad, b, ctx.precision) if to_a else None,
            _multiply(grad.T, a, ctx.precision) if to_b else None,
            None,
        )


def _multiply(x: Float[Tensor, "m k"], y: Float[Tensor, "k n"], precision: SimilarityPrecision) -> Float[Tensor, "m n"]:
    match precision:
        case "float32":
            return x @ y
        case "tf32":
            return _tf32(x, y)
        case "bf16":
            return _bf16(x.bfloat16(), y.bfloat16())
        case "bf16x3":
            (high_x, low_x), (high_y, low_y) = _halves(x), _halves(y)
            # One product, with the three terms concatenated along the dimension that is summed over.
            return _bf16(torch.cat([high_x, high_x, low_x], dim=1), torch.cat([high_y, low_y, high_y], dim=0))
        case _:
            assert_never(precision)


def _halves(x: Tensor) -> tuple[Tensor, Tensor]:
    high = x.bfloat16()
    return high, (x - high.float()).bfloat16()


def _bf16(x: Tensor, y: Tensor) -> Tensor:
    """The product of bf16 factors with float32 sums; a CPU's bf16 product would round its result to bf16."""
    return torch.mm(x, y, out_dtype=torch.float32) if x.is_cuda else x.float() @ y.float()


def _tf32(x: Tensor, y: Tensor) -> Tensor:
    if not x.is_cuda:
        return _to_tf32(x) @ _to_tf32(y)
    with _tensor_cores():
        return x @ y


@contextmanager
def _tensor_cores() -> Iterator[None]:
    """A context in which CUDA computes float32 products in TF32."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _to_tf32(x: Tensor) -> Tensor:
    """float32 numbers rounded to 10 bits of mantissa, half away from zero; NaN and infinities stay."""
    half, mask = 1 << (_TF32_DROPPED - 1), -(1 << _TF32_DROPPED)
    rounded = ((x.contiguous().view(torch.int32) + half) & mask).view(torch.float32)
    return torch.where(x.isfinite(), rounded, x)
