"""The gradients of a selective scan, chunk by chunk from the last step to the first."""

import torch
from jaxtyping import Float
from torch import Tensor

from vtr_core.nn.mamba.scan_arguments import ScanArguments
from vtr_core.nn.mamba.scan_chunks import (
    Chunk,
    buffers,
    by_state,
    chunks,
    over_states,
    scan_chunk,
    steps_of,
    with_skip,
    zero_state,
)


def add_gradients(
    scanned: ScanArguments,
    grad: Float[Tensor, "rows dim length"],
    starts: Float[Tensor, "chunks rows state dim"],
    found: ScanArguments,
) -> None:
    """Writes the gradients of all arguments into `found`; those of arguments that all rows share are added to it.

    With g_t the gradient of the state h_t,  g_t = C_t dy_t + a_{t+1} g_{t+1},  a_t = exp(Δ_t A):
    dC_t = h_t dy_t   dB_t = g_t Δ_t u_t   dA = Σ_t Δ_t w_t   dΔ_t = A w_t + B_t g_t u_t   with   w_t = a_t h_{t-1} g_t.
    """
    room, A, later = buffers(scanned, 3), by_state(scanned.A, scanned.dtype), zero_state(scanned)
    for part, start in reversed(list(zip(chunks(grad.shape[2]), starts, strict=True))):
        chunk = scan_chunk(scanned, part, start, room)
        dy = _before_gate(scanned, chunk, part, steps_of(grad, part, scanned.dtype), found)
        g = torch.mul(chunk.C, dy.unsqueeze(2), out=room[2][: len(dy)])
        _scan_back(g, chunk.decay, later)
        _add_to_weights(found.C, part, chunk.states, dy)
        _add_to_weights(found.B, part, g, chunk.delta * chunk.u)
        dx = over_states(chunk.B, g)
        w = _times_previous(g.mul_(chunk.decay), chunk.states, start)
        found.A.add_(torch.mul(w, chunk.delta.unsqueeze(2), out=chunk.decay).sum(dim=(0, 1)).T)
        _add_step_sizes(found, part, chunk, torch.mul(w, A, out=chunk.decay).sum(dim=2).addcmul_(dx, chunk.u))
        du = dx * chunk.delta
        if scanned.D is not None:
            du.addcmul_(dy, scanned.D.to(scanned.dtype))
        found.u[:, :, part] = du.permute(1, 2, 0)


def _before_gate(
    scanned: ScanArguments, chunk: Chunk, part: slice, grad: Float[Tensor, "steps rows dim"], found: ScanArguments
) -> Float[Tensor, "steps rows dim"]:
    """The gradient of y before the gate; those of z and D are written into `found`."""
    dy = grad
    if scanned.z is not None and found.z is not None:
        z = steps_of(scanned.z, part, scanned.dtype)
        open_share = torch.sigmoid(z)
        slope = open_share * (1 + z * (1 - open_share))
        found.z[:, :, part] = (grad * with_skip(scanned, chunk) * slope).permute(1, 2, 0)
        dy = grad * z * open_share
    if found.D is not None:
        found.D.add_((dy * chunk.u).sum(dim=(0, 1)))
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


def _times_previous(values: Tensor, states: Tensor, start: Tensor) -> Float[Tensor, "steps rows state dim"]:
    """`values` of every step t times the state h_{t-1}, in place."""
    values[0].mul_(start)
    values[1:].mul_(states[:-1])
    return values


def _add_step_sizes(found: ScanArguments, part: slice, chunk: Chunk, grad: Float[Tensor, "steps rows dim"]) -> None:
    """Adds the gradients of delta and of its bias; `grad` is that of Δ, after bias and softplus."""
    if found.delta_softplus:
        grad.mul_(-torch.expm1(-chunk.delta))  # the softplus' slope, from its value
    if found.delta_bias is not None:
        found.delta_bias.add_(grad.sum(dim=(0, 1)))
    found.delta[:, :, part] = grad.permute(1, 2, 0)


def _add_to_weights(found: Float[Tensor, "..."], part: slice, values: Tensor, vectors: Tensor) -> None:
    """Gradients of B or C: Σ over channels of values · vectors, or over steps and rows where they are constant."""
    if found.dim() == 2:
        found.add_((values * vectors.unsqueeze(2)).sum(dim=(0, 1)).T)
    else:
        found[:, :, part] = torch.matmul(values, vectors.unsqueeze(3)).squeeze(3).permute(1, 2, 0)
