"""A selective scan in chunks of a few steps, and its gradients from the last step to the first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import silu, softplus


@dataclass(frozen=True)
class ScanArguments:
    """The arguments of `selective_scan`."""

    u: Float[Tensor, "batch dim length"]
    delta: Float[Tensor, "batch dim length"]
    A: Float[Tensor, "dim state"]
    B: Float[Tensor, "batch state length"]
    C: Float[Tensor, "batch state length"]
    D: Float[Tensor, " dim"] | None
    z: Float[Tensor, "batch dim length"] | None
    delta_bias: Float[Tensor, " dim"] | None
    delta_softplus: bool

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the computation: float64 where u is, else float32."""
        return torch.float64 if self.u.dtype == torch.float64 else torch.float32

    def rows(self, rows: slice) -> "ScanArguments":
        """Views of some rows of the batch; arguments without a batch axis are shared."""
        gate = None if self.z is None else self.z[rows]
        return replace(self, u=self.u[rows], delta=self.delta[rows], B=self.B[rows], C=self.C[rows], z=gate)

    def tensors(self) -> list[Tensor | None]:
        """All fields but `delta_softplus`, in their order."""
        return [getattr(self, name) for name in TENSORS]

    def zeros(self) -> "ScanArguments":
        """Zeros to accumulate gradients in; sums over steps or channels are in the dtype of the computation."""
        zeros: dict[str, Any] = {name: torch.zeros_like(getattr(self, name)) for name in ("u", "delta")}
        zeros |= {name: self._sums(getattr(self, name)) for name in ("A", "B", "C", "D", "delta_bias")}
        return replace(self, **zeros, z=None if self.z is None else torch.zeros_like(self.z))

    def in_dtypes_of(self, arguments: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The tensors in the dtypes of `arguments`; None where an argument is None."""
        pairs = zip(self.tensors(), arguments, strict=True)
        return [None if own is None or like is None else own.to(like.dtype) for own, like in pairs]

    def _sums(self, values: Tensor | None) -> Tensor | None:
        return None if values is None else torch.zeros(values.shape, dtype=self.dtype, device=values.device)


TENSORS = ("u", "delta", "A", "B", "C", "D", "z", "delta_bias")
"""The names of a scan's tensors, in their order."""
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
    B: Float[Tensor, "steps rows state 1"]
    C: Float[Tensor, "steps rows state 1"]
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
    B, C = (steps_of(values, part, scanned.dtype).unsqueeze(3) for values in (scanned.B, scanned.C))
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


def over_states(weights: Float[Tensor, "steps rows state 1"], values: Tensor) -> Float[Tensor, "steps rows dim"]:
    """Σ over states of weights · values."""
    return torch.matmul(weights.transpose(2, 3), values).squeeze(2)


def steps_of(values: Tensor, part: slice, dtype: torch.dtype) -> Float[Tensor, "steps rows dim"]:
    """The steps `part` of (rows, dim, length) as (steps, rows, dim), contiguous in memory."""
    return values[:, :, part].permute(2, 0, 1).to(dtype).contiguous()


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


def add_gradients(
    scanned: ScanArguments,
    grad: Float[Tensor, "rows dim length"],
    starts: Float[Tensor, "chunks rows state dim"],
    gradients: ScanArguments,
) -> None:
    """Writes the gradients of all arguments into `gradients`; those of arguments that all rows share are added to it.

    With g_t the gradient of the state h_t,  g_t = C_t dy_t + a_{t+1} g_{t+1},  a_t = exp(Δ_t A):
    dC_t = h_t dy_t   dB_t = g_t Δ_t u_t   dA = Σ_t Δ_t w_t   dΔ_t = A w_t + B_t g_t u_t   with   w_t = a_t h_{t-1} g_t.
    """
    room, A, later = buffers(scanned, 3), by_state(scanned.A, scanned.dtype), zero_state(scanned)
    for part, start in reversed(list(zip(chunks(grad.shape[2]), starts, strict=True))):
        chunk = scan_chunk(scanned, part, start, room)
        dy = _before_gate(scanned, chunk, part, steps_of(grad, part, scanned.dtype), gradients)
        g = torch.mul(chunk.C, dy.unsqueeze(2), out=room[2][: len(dy)])
        _scan_back(g, chunk.decay, later)
        for weights, states, vectors in ((gradients.C, chunk.states, dy), (gradients.B, g, chunk.delta * chunk.u)):
            weights[:, :, part] = torch.matmul(states, vectors.unsqueeze(3)).squeeze(3).permute(1, 2, 0)
        dx = over_states(chunk.B, g)
        w = g.mul_(chunk.decay)  # times the state before every step
        w[0].mul_(start)
        w[1:].mul_(chunk.states[:-1])
        gradients.A.add_(torch.mul(w, chunk.delta.unsqueeze(2), out=chunk.decay).sum(dim=(0, 1)).T)
        _add_step_sizes(gradients, part, chunk, torch.mul(w, A, out=chunk.decay).sum(dim=2).addcmul_(dx, chunk.u))
        du = dx * chunk.delta
        if scanned.D is not None:
            du.addcmul_(dy, scanned.D.to(scanned.dtype))
        gradients.u[:, :, part] = du.permute(1, 2, 0)


def _before_gate(
    scanned: ScanArguments, chunk: Chunk, part: slice, grad: Float[Tensor, "steps rows dim"], gradients: ScanArguments
) -> Float[Tensor, "steps rows dim"]:
    """The gradient of y before the gate; those of z and D are written into `gradients`."""
    dy = grad
    if scanned.z is not None and gradients.z is not None:
        z = steps_of(scanned.z, part, scanned.dtype)
        open_share = torch.sigmoid(z)
        slope = open_share * (1 + z * (1 - open_share))
        gradients.z[:, :, part] = (grad * with_skip(scanned, chunk) * slope).permute(1, 2, 0)
        dy = grad * z * open_share
    if gradients.D is not None:
        gradients.D.add_((dy * chunk.u).sum(dim=(0, 1)))
    return dy


def _scan_back(g: Float[Tensor, "steps rows state dim"], decay: Tensor, later: Float[Tensor, "rows state dim"]) -> None:
    """g_t += a_{t+1} g_{t+1}, in place.

    `later` holds the product a · g of the step after the chunk's last, and is overwritten with that of its first step.
    """
    steps, factors = g.unbind(), decay.unbind()
    steps[-1].add_(later)
    for index in range(len(steps) - 2, -1, -1):
        steps[index].addcmul_(factors[index + 1], steps[index + 1])
    torch.mul(factors[0], steps[0], out=later)


def _add_step_sizes(gradients: ScanArguments, part: slice, chunk: Chunk, grad: Float[Tensor, "steps rows dim"]) -> None:
    """Adds the gradients of delta and of its bias; `grad` is that of Δ, after bias and softplus."""
    if gradients.delta_softplus:
        grad.mul_(-torch.expm1(-chunk.delta))  # the softplus' slope, from its value
    if gradients.delta_bias is not None:
        gradients.delta_bias.add_(grad.sum(dim=(0, 1)))
    gradients.delta[:, :, part] = grad.permute(1, 2, 0)
