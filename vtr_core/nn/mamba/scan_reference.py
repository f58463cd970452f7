"""The selective scan in plain torch, on any device, with its own backward pass."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from vtr_core.errors import ConfigError
from vtr_core.nn.mamba.scan_arguments import ScanArguments
from vtr_core.nn.mamba.scan_chunks import CHUNK, chunks, scan_rows
from vtr_core.nn.mamba.scan_gradients import add_gradients

_STATES = 2**19
"""Elements in a block of states on the CPU: rows are scanned a few at a time so that a block fits the cache."""


def reference_scan(
    u: Float[Tensor, "batch dim length"],
    delta: Float[Tensor, "batch dim length"],
    A: Float[Tensor, "dim state"],
    B: Float[Tensor, "..."],
    C: Float[Tensor, "..."],
    D: Float[Tensor, " dim"] | None = None,
    z: Float[Tensor, "batch dim length"] | None = None,
    delta_bias: Float[Tensor, " dim"] | None = None,
    delta_softplus: bool = False,
) -> Float[Tensor, "batch dim length"]:
    """`selective_scan` in plain torch, without a compiled kernel; the same arguments and result.

    It computes in float32, or in float64 for float64 inputs. Only the state before every chunk of 32 steps is stored,
    and the backward pass recomputes the states within a chunk from it: memory holds one of every 32 states, and the
    time is linear in the sequence length. Raises ConfigError where the numbers of groups of B and C do not match each
    other or do not divide the channels.
    """
    groups = max(_groups(B), _groups(C))
    if u.shape[1] % groups or not {_groups(B), _groups(C)} <= {1, groups}:
        raise ConfigError(
            f"B has {_groups(B)} groups and C {_groups(C)}, of {u.shape[1]} channels; "
            "give both the same number, or one of them 1, that divides the channels"
        )
    width, keep = u.shape[1] // groups, torch.is_grad_enabled()
    parts = []
    for group in range(groups):
        own = slice(group * width, (group + 1) * width)
        skip, bias = (None if values is None else values[own] for values in (D, delta_bias))
        gate = None if z is None else z[:, own]
        B_own, C_own = (_of_group(weights, group, own) for weights in (B, C))
        arguments = (u[:, own], delta[:, own], A[own], B_own, C_own, skip, gate, bias, delta_softplus, keep)
        parts.append(_SelectiveScan.apply(*arguments))
    return parts[0] if groups == 1 else torch.cat(parts, dim=1)


class _SelectiveScan(torch.autograd.Function):
    """The scan of one group of channels; keep: whether to store what the backward pass needs."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        *given, keep = arguments
        scanned = ScanArguments(*given)
        out = torch.empty_like(scanned.u)
        starts = _starts(scanned) if keep else None
        with torch.autocast(out.device.type, enabled=False):
            for rows in _row_blocks(scanned):
                scan_rows(scanned.rows(rows), out[rows], None if starts is None else starts[:, rows])
        ctx.delta_softplus = scanned.delta_softplus
        ctx.save_for_backward(*scanned.tensors(), starts)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        *tensors, starts = ctx.saved_tensors
        scanned = ScanArguments(*[*tensors, ctx.delta_softplus])
        found = scanned.zeros()
        with torch.autocast(grad.device.type, enabled=False):
            for rows in _row_blocks(scanned):
                add_gradients(scanned.rows(rows), grad[rows], starts[:, rows], found.rows(rows))
        return (*found.gradients(tensors), None, None)


def _starts(scanned: ScanArguments) -> Float[Tensor, "chunks batch state dim"]:
    batch, _, length = scanned.u.shape
    dim, state = scanned.A.shape
    return scanned.u.new_empty((len(chunks(length)), batch, state, dim), dtype=scanned.dtype)


def _row_blocks(scanned: ScanArguments) -> list[slice]:
    """The blocks of rows scanned at once; a single one on a GPU, where kernel launches cost more than memory access."""
    batch, _, length = scanned.u.shape
    states = min(CHUNK, length) * scanned.A.numel()
    height = batch if scanned.u.is_cuda else _STATES // max(1, states)
    return [slice(first, first + max(1, height)) for first in range(0, batch, max(1, height))]


def _groups(weights: Float[Tensor, "..."]) -> int:
    return weights.shape[1] if weights.dim() == 4 else 1


def _of_group(weights: Float[Tensor, "..."], group: int, own: slice) -> Float[Tensor, "..."]:
    """The group's part of B or C: (dim, state) where it is constant, else (batch, state, length)."""
    match weights.dim():
        case 2:
            return weights[own]
        case 4:
            return weights[:, min(group, weights.shape[1] - 1)]
        case _:
            return weights
