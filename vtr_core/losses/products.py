"""Matrix products a bᵀ for similarities in a given precision: float32, or factors of fewer bits with float32 sums.

tf32: factors rounded to 10 bits of mantissa. bf16: to 7. bf16x3: a = a₁ + a₂ with a₁ = bf16(a), a₂ = bf16(a − a₁), and
a bᵀ ≈ a₁b₁ᵀ + a₁b₂ᵀ + a₂b₁ᵀ (Henry et al. 2019, "Leveraging the bfloat16 artificial intelligence datatype for
higher-precision computations"): about 16 bits at a half to a third of bf16's rate. Gradients are products of the same
precision. On a GPU they run on its tensor cores; on a CPU the factors are rounded alike and multiplied in float32,
which is slower than plain float32 and serves to study the effect of a precision on a loss.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, assert_never

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from vtr_core.config.losses.contrastive import SimilarityPrecision

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
    half, kept = 1 << (_TF32_DROPPED - 1), -(1 << _TF32_DROPPED)
    rounded = ((x.contiguous().view(torch.int32) + half) & kept).view(torch.float32)
    return torch.where(x.isfinite(), rounded, x)
