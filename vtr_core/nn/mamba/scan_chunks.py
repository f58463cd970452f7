"""A selective scan in chunks of a few steps; states are laid out as (steps, rows, state, dim)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import silu, softplus

from vtr_core.nn.mamba.scan_arguments import ScanArguments

CHUNK = 32
"""Steps whose states are in memory at once; the state before every such chunk is stored for the backward pass."""


def chunks(length: int) -> list[slice]:
    """The steps of a sequence, `CHUNK` at a time."""
    return [slice(first, min(first + CHUNK, length)) for first in range(0, length, CHUNK)]


def scan_rows(
    scanned: ScanArguments,
    out: Float[Tensor, "rows dim length"],
    starts: Float[Tensor, "chunks rows state dim"] | None,
) -> None:
    """Writes the result into `out`, and the state before every chunk into `starts` where it is given."""
    room, state = buffers(scanned, 2), zero_state(scanned)
    for index, part in enumerate(chunks(out.shape[2])):
        if starts is not None:
            starts[index] = state
        chunk = scan_chunk(scanned, part, state, room)
        y = with_skip(scanned, chunk)
        gate = None if scanned.z is None else silu(steps_of(scanned.z, part, scanned.dtype))
        out[:, :, part] = (y if gate is None else y * gate).permute(1, 2, 0)
        state = chunk.states[-1].clone()


@dataclass(frozen=True)
class Chunk:
    """The values of a scan over a chunk of steps, for all rows, in the dtype of the computation."""

    u: Float[Tensor, "steps rows dim"]
    delta: Float[Tensor, "steps rows dim"]
    """Δ, after bias and softplus."""
    B: Float[Tensor, "..."]
    """(steps, rows, state, 1), or (state, dim) where it is constant."""
    C: Float[Tensor, "..."]
    decay: Float[Tensor, "steps rows state dim"]
    """exp(Δ A)."""
    states: Float[Tensor, "steps rows state dim"]


def scan_chunk(scanned: ScanArguments, part: slice, start: Tensor, room: list[Tensor]) -> Chunk:
    """The steps `part`, scanned from the state `start`; `room` holds the buffers that are written to."""
    u, delta = steps_of(scanned.u, part, scanned.dtype), steps_of(scanned.delta, part, scanned.dtype)
    if scanned.delta_bias is not None:
        delta = delta + scanned.delta_bias.to(scanned.dtype)
    if scanned.delta_softplus:
        delta = softplus(delta)
    B, C = (_weights(values, part, scanned.dtype) for values in (scanned.B, scanned.C))
    A = by_state(scanned.A, scanned.dtype)
    decay = torch.mul(delta.unsqueeze(2), A, out=room[0][: len(u)]).exp_()
    states = torch.mul((delta * u).unsqueeze(2), B, out=room[1][: len(u)])
    state = start
    for step, factor in zip(states.unbind(), decay.unbind(), strict=True):
        state = step.addcmul_(factor, state)
    return Chunk(u, delta, B, C, decay, states)


def with_skip(scanned: ScanArguments, chunk: Chunk) -> Float[Tensor, "steps rows dim"]:
    """y = C h + D u."""
    y = over_states(chunk.C, chunk.states)
    return y if scanned.D is None else y.addcmul_(chunk.u, scanned.D.to(scanned.dtype))


def over_states(weights: Float[Tensor, "..."], values: Tensor) -> Float[Tensor, "steps rows dim"]:
    """Σ over states of weights · values."""
    if weights.dim() == 2:
        return (weights * values).sum(dim=2)
    return torch.matmul(weights.transpose(2, 3), values).squeeze(2)


def steps_of(values: Tensor, part: slice, dtype: torch.dtype) -> Float[Tensor, "steps rows dim"]:
    """The steps `part` of (rows, dim, length) as (steps, rows, dim), contiguous in memory."""
    return values[:, :, part].permute(2, 0, 1).to(dtype).contiguous()


def _weights(weights: Tensor, part: slice, dtype: torch.dtype) -> Float[Tensor, "..."]:
    return by_state(weights, dtype) if weights.dim() == 2 else steps_of(weights, part, dtype).unsqueeze(3)


def by_state(weights: Float[Tensor, "dim state"], dtype: torch.dtype) -> Float[Tensor, "state dim"]:
    """The transposed weights in the dtype of the computation."""
    return weights.T.to(dtype).contiguous()


def buffers(scanned: ScanArguments, count: int) -> list[Tensor]:
    """Buffers for the states of a chunk."""
    rows, _, length = scanned.u.shape
    dim, state = scanned.A.shape
    shape = (min(CHUNK, length), rows, state, dim)
    return [scanned.u.new_empty(shape, dtype=scanned.dtype) for _ in range(count)]


def zero_state(scanned: ScanArguments) -> Float[Tensor, "rows state dim"]:
    """h_0 = 0."""
    dim, state = scanned.A.shape
    return scanned.u.new_zeros((len(scanned.u), state, dim), dtype=scanned.dtype)
