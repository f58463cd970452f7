"""Routing by agreement over coupling coefficients, with a backward pass that writes the votes' gradient once."""

from typing import Any, Literal, NamedTuple, assert_never

import torch
from jaxtyping import Float
from torch import Tensor

Nonlinearity = Literal["tanh", "squash"]
Couplings = Literal["outputs", "inputs"]
_SQUARED_LENGTH_FLOOR = 1e-12


def squash(poses: Float[Tensor, "... dim"]) -> Float[Tensor, "... dim"]:
    """v = s·‖s‖ / (1 + ‖s‖²): the direction of s, and a length below 1 (Sabour et al., Eq. 1).

    1e-12 is added to ‖s‖² under the root, so the gradient at s = 0 is finite.
    """
    squared_length = poses.square().sum(dim=-1, keepdim=True)
    return poses * (squared_length + _SQUARED_LENGTH_FLOOR).sqrt() / (1 + squared_length)


def bound(poses: Float[Tensor, "... dim"], nonlinearity: Nonlinearity) -> Float[Tensor, "... dim"]:
    """The poses after an elementwise tanh, or squashed."""
    match nonlinearity:
        case "tanh":
            return poses.tanh()
        case "squash":
            return squash(poses)
        case _:
            assert_never(nonlinearity)


def agree(
    votes: Float[Tensor, "batch outputs inputs dim"],
    iterations: int,
    nonlinearity: Nonlinearity = "squash",
    couplings: Couplings = "outputs",
    scale: float = 1.0,
) -> Float[Tensor, "batch outputs dim"]:
    """The poses that the votes agree on (Sabour et al. 2017, procedure 1).

    From b = 0, `iterations` times:
    c = softmax of b,  s_j = Σᵢ c_ij û_ij,  v_j = bound(s_j),  b_ij ← b_ij + κ û_ij · v_j

    κ is `scale`, 1 in the publication; c are the coupling coefficients. couplings: "outputs" takes the softmax over the
    outputs j of each input i, "inputs" over the inputs i of each output j.

    The gradient is that of the whole procedure, through all rounds. Plain autograd would store products of the votes'
    shape in every round and twice add a gradient of that shape to theirs. Here a round only sums over the votes,
    without a copy of them, and their gradient is one matrix product per output of the small factors that the rounds
    stored: (inputs × factors) by (factors × dim), with 2 · iterations − 1 factors.

    votes: of any strides; votes laid out as (inputs, batch, outputs, dim) in memory need no copy.
    """
    routed: Tensor = _Agree.apply(votes, _Procedure(iterations, nonlinearity, _AXES[couplings], scale))
    return routed


_AXES: dict[Couplings, int] = {"outputs": 1, "inputs": 2}
"""The axis of coupling coefficients (batch, outputs, inputs) that the softmax is over."""


class _Procedure(NamedTuple):
    iterations: int
    nonlinearity: Nonlinearity
    axis: int
    scale: float


class _Agree(torch.autograd.Function):
    """Coupling coefficients and poses are float32 or more, also under autocast; votes are read in their own dtype."""

    @staticmethod
    def forward(ctx: Any, votes: Tensor, procedure: _Procedure) -> Tensor:
        with torch.autocast(votes.device.type, enabled=False):
            couplings, sums, poses = _rounds(votes, procedure)
        ctx.save_for_backward(votes, *couplings, *sums, *poses)
        ctx.procedure = procedure
        return poses[-1].to(votes.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        votes, *kept = ctx.saved_tensors
        count = ctx.procedure.iterations
        couplings, sums, poses = kept[:count], kept[count : 2 * count], kept[2 * count :]
        with torch.autocast(votes.device.type, enabled=False):
            return _votes_gradient(votes, couplings, sums, poses, grad, ctx.procedure), None


def _rounds(votes: Tensor, procedure: _Procedure) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """The coupling coefficients c, sums s and poses v of every round."""
    exact = votes.dtype if votes.dtype == torch.float64 else torch.float32
    logits = votes.new_zeros(votes.shape[:3], dtype=exact)
    couplings, sums, poses = [], [], []
    for number in range(procedure.iterations):
        couplings.append(logits.softmax(dim=procedure.axis))
        sums.append(_weighted(couplings[-1], votes).to(exact))
        poses.append(bound(sums[-1], procedure.nonlinearity))
        if number < procedure.iterations - 1:
            logits = logits + procedure.scale * _along(votes, poses[-1]).to(exact)
    return couplings, sums, poses


def _votes_gradient(
    votes: Tensor,
    couplings: list[Tensor],
    sums: list[Tensor],
    poses: list[Tensor],
    grad: Tensor,
    procedure: _Procedure,
) -> Tensor:
    """∂L/∂û_ij = Σ over rounds t of c_ij ∂L/∂s_j + κ ∂L/∂b_ij v_j, from the last round to the first.

    The logits of round t are those of round t − 1 plus κ û · v of round t − 1, so ∂L/∂b accumulates over the rounds.
    """
    by_input, by_dim = [], []
    of_logits = torch.zeros_like(couplings[0])
    of_pose = grad.to(sums[0])
    for number in reversed(range(len(couplings))):
        of_sum = _before_bound(sums[number], of_pose, procedure.nonlinearity)
        by_input.append(couplings[number])
        by_dim.append(of_sum)
        if number == 0:  # its logits are constant
            break
        of_coupling = couplings[number] * _along(votes, of_sum).to(of_sum)
        of_logits = of_logits + of_coupling - couplings[number] * of_coupling.sum(dim=procedure.axis, keepdim=True)
        of_products = procedure.scale * of_logits
        by_input.append(of_products)
        by_dim.append(poses[number - 1])
        of_pose = _weighted(of_products, votes).to(of_sum)
    left = torch.stack(by_input, dim=3).flatten(0, 1).to(votes.dtype)
    right = torch.stack(by_dim, dim=2).flatten(0, 1).to(votes.dtype)
    return torch.bmm(left, right).view(votes.shape)


def _weighted(weights: Tensor, votes: Tensor) -> Tensor:
    """Σ over inputs of w_ij û_ij, (batch, outputs, dim)."""
    flat = votes.flatten(0, 1)
    return torch.bmm(weights.to(votes.dtype).flatten(0, 1).unsqueeze(1), flat).view(*votes.shape[:2], votes.shape[3])


def _along(votes: Tensor, poses: Tensor) -> Tensor:
    """û_ij · v_j, (batch, outputs, inputs)."""
    return torch.bmm(votes.flatten(0, 1), poses.to(votes.dtype).flatten(0, 1).unsqueeze(2)).view(votes.shape[:3])


def _before_bound(sums: Tensor, grad: Tensor, nonlinearity: Nonlinearity) -> Tensor:
    """The gradient of s from that of v = bound(s)."""
    with torch.enable_grad():
        leaf = sums.detach().requires_grad_()
        (found,) = torch.autograd.grad(bound(leaf, nonlinearity), leaf, grad)
    return found
