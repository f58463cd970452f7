"""Capsules of a feature, and dynamic routing between capsules (Sabour et al.)."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, assert_never

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from vtr_core.config.towers import DynamicRouting
from vtr_core.nn.initialization import GELU_SIZE, SOFTMAX_SIZE, keep_size


@dataclass(frozen=True)
class Capsules:
    """`capsules` poses and activations per row; activations lie in [0, 1]."""

    poses: Float[Tensor, "batch capsules dim"]
    activations: Float[Tensor, "batch capsules"]

    def weighted_poses(self) -> Float[Tensor, "batch capsules dim"]:
        """pᵢ·xᵢ: poses of absent entities vanish."""
        return self.poses * self.activations.unsqueeze(-1)


class PrimaryCapsules(nn.Module):
    """C poses and C activations from one linear layer over the feature vector.

    xᵢ = (W f + b)ᵢ ∈ R^d1,  pᵢ = sigmoid((W′ f + b′)ᵢ) ∈ [0, 1]        (Duarte et al., section 3.2)
    """

    def __init__(self, feature_dim: int, num_capsules: int, pose_dim: int) -> None:
        super().__init__()
        self.num_capsules = num_capsules
        self.linear = nn.Linear(feature_dim, num_capsules * (pose_dim + 1))

    def forward(self, features: Float[Tensor, "batch feature"]) -> Capsules:
        """The capsules of each row."""
        values = self.linear(features).unflatten(1, (self.num_capsules, -1))
        return Capsules(poses=values[..., :-1], activations=torch.sigmoid(values[..., -1]))

    def initialize(self) -> None:
        """Draw weights that keep the size of features."""
        keep_size(self.linear)


class CapsuleProjection(nn.Module):
    """f_out: one linear layer over the concatenation of the C activation-weighted poses.

    f = W [s·p̂₁x₁, …, s·p̂_C x_C] + b        (Duarte et al., Eq. 3; the poses x are the secondary or the primary ones)

    activation_scale: "none" is s = 1, as in the paper. "num_capsules" is s = C, which makes up for activations that
    are a softmax and thus about 1/C.
    """

    def __init__(
        self, num_capsules: int, pose_dim: int, embedding_dim: int, activation_scale: Literal["none", "num_capsules"]
    ) -> None:
        super().__init__()
        self.scale = num_capsules if activation_scale == "num_capsules" else 1
        self.linear = nn.Linear(num_capsules * pose_dim, embedding_dim)

    def forward(self, capsules: Capsules) -> Float[Tensor, "batch embedding"]:
        """The embedding of each row."""
        return self.linear(self.scale * capsules.weighted_poses().flatten(1))


_PRESENCE_FLOOR = 1e-6
"""Lower bound on primary activations before their logarithm is taken."""


class PoseMlp(nn.Sequential):
    """Two linear layers with GELU between them and dropout after them, applied to every capsule separately."""

    def __init__(self, in_dim: int, hidden_dim: int, out_dim: int, dropout: float) -> None:
        first, second = nn.Linear(in_dim, hidden_dim), nn.Linear(hidden_dim, out_dim)
        super().__init__(first, nn.GELU(), second, nn.Dropout(dropout))

    def initialize(self, in_size: float = 1.0) -> None:
        """Draw weights by which inputs of size `in_size` come out with size 1."""
        first, _, second, _ = self
        assert isinstance(first, nn.Linear)
        assert isinstance(second, nn.Linear)
        keep_size(first, in_size)
        keep_size(second, in_size=GELU_SIZE)


class SecondaryActivations(nn.Module):
    """Activations of given poses, a softmax over the capsules: they compete, and sum to 1.

    p̂ᵢ = exp(zᵢ) / Σⱼ exp(zⱼ),  zᵢ = x̂ᵢ W_p + b_p + γ log pᵢ        (Duarte et al., Eq. 2 with x̂ for x; γ = 0 there)

    With γ > 0 the activation of secondary capsule i also depends on that of primary capsule i, which reads the features
    with weights of its own, whereas W_p is shared by all capsules and reads the poses after attention. γ > 0 needs a
    routing that maps primary capsule i to secondary capsule i.
    """

    def __init__(self, pose_dim: int, carried_presence: float = 0.0) -> None:
        super().__init__()
        self.carried_presence = carried_presence
        self.linear = nn.Linear(pose_dim, 1)

    def forward(
        self, poses: Float[Tensor, "batch capsules dim"], presence: Float[Tensor, "batch capsules"] | None = None
    ) -> Capsules:
        """The poses with their activations; presence: the primary activations p, which are used where γ > 0."""
        logits = self.linear(poses).squeeze(-1)
        if self.carried_presence and presence is not None:
            logits = logits + self.carried_presence * presence.clamp(min=_PRESENCE_FLOOR).log()
        return Capsules(poses=poses, activations=logits.softmax(dim=1))

    def initialize(self, in_size: float = 1.0) -> None:
        """Draw W_p for poses of size `in_size`, so that logits have a standard deviation of about 1 in total.

        Some activations are then several times others. log p of a sigmoid has 0.5, so W_p contributes little where that
        term is present.
        """
        keep_size(self.linear, in_size, 0.3 if self.carried_presence else 1.0)


class Routing(nn.Module):
    """Secondary capsules from as many primary ones, and what the layers after it are initialised by."""

    activation_size: float
    """Root mean square of the activations at the start, those of a softmax of logits of deviation 1 for most."""
    pose_size = 1.0
    """Root mean square of the values of the poses at the start."""

    def __init__(self, num_capsules: int) -> None:
        super().__init__()
        self.activation_size = SOFTMAX_SIZE / num_capsules

    def initialize(self) -> None:
        """Draw the weights of linear layers, for weighted poses of size SIGMOID_SIZE."""
        raise NotImplementedError


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
        votes, *stored = ctx.saved_tensors
        count = ctx.procedure.iterations
        couplings, sums, poses = stored[:count], stored[count : 2 * count], stored[2 * count :]
        with torch.autocast(votes.device.type, enabled=False):
            return _votes_gradient(votes, couplings, sums, poses, grad, ctx.procedure), None


def _rounds(votes: Tensor, procedure: _Procedure) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
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
    with torch.enable_grad():
        leaf = sums.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(bound(leaf, nonlinearity), leaf, grad)
    return gradient


_VOTES = 2**31
"""Votes that are held at once where they are recomputed: 8.6 GB in float32, and as much again for their gradient."""


class Dynamic(Routing):
    """C secondary capsules from C primary ones by iterated agreement (Sabour et al. 2017, procedure 1).

    û_ij = (pᵢxᵢ) W_ij                                       the vote of capsule i for capsule j; W_ij is d1 × d2
    repeated, from b_ij = 0:  c_ij = softmax over j of b_ij,  v_j = squash(Σᵢ c_ij û_ij),  b_ij ← b_ij + κ û_ij · v_j
    x̂_j = v_j of the last round,  p̂ = softmax over the capsules of x̂ W_p + b_p

    Activations are the softmax of Duarte et al., Eq. 2, rather than the length of v_j, so that f_out gets the same kind
    of input under every routing; the length stays in the pose. The gradient is that of the whole procedure, through
    every round. Duarte et al. seem to do the same, judging by memory: their Table 3 reports 11.4 GB more than for
    self-attention, about 14 times the votes of three modalities if it counts one of four GPUs. Here the votes and their
    gradient are stored once; with `recompute` only the poses are stored, and the votes are recomputed, of so many rows
    at a time that memory does not grow with the batch.

    κ is 1 (`config.agreement` "sum", as published) or 1/d2 ("mean"). By the sum the couplings of untrained poses' votes
    are nearly all 0 or 1, and three rounds hardly learn (benchmarks/results/capsule_ablation.md).

    W_ij is drawn with variance C/d1: the mean of C independent votes then has the variance of pᵢxᵢ for any C.
    """

    def __init__(self, num_capsules: int, primary_dim: int, config: DynamicRouting) -> None:
        super().__init__(num_capsules)
        self.pose_size = config.pose_dim**-0.5  # squashed, to a length of almost 1
        self.num_iterations, self.recompute = config.num_iterations, config.recompute
        self.agreement_scale = 1 / config.pose_dim if config.agreement == "mean" else 1.0
        self.weight = nn.Parameter(torch.empty(num_capsules, num_capsules, primary_dim, config.pose_dim))
        nn.init.normal_(self.weight, std=(num_capsules / primary_dim) ** 0.5)
        self.activations = SecondaryActivations(config.pose_dim)

    def forward(self, capsules: Capsules) -> Capsules:
        """The secondary capsules."""
        poses = capsules.weighted_poses()
        if self.recompute:
            rows = max(1, _VOTES // (self.weight.numel() // self.weight.shape[2]))
            parts = [
                checkpoint(self._routed, part, use_reentrant=False, preserve_rng_state=False)
                for part in poses.split(rows)
            ]
            routed = torch.cat(parts)
        else:
            routed = self._routed(poses)
        return self.activations(routed)

    def initialize(self) -> None:
        """Draw the weights of the activations; votes keep theirs."""
        self.activations.initialize(self.pose_size)

    def _routed(self, poses: Float[Tensor, "batch capsules primary"]) -> Float[Tensor, "batch secondary pose"]:
        return agree(self._votes(poses), self.num_iterations, "squash", scale=self.agreement_scale)

    def _votes(self, poses: Float[Tensor, "batch capsules primary"]) -> Float[Tensor, "batch secondary capsules pose"]:
        """û_ij, by one matrix product per primary capsule, whose result is reshaped without a copy."""
        primary, secondary, _, pose_dim = self.weight.shape
        weight = self.weight.transpose(1, 2).reshape(primary, -1, secondary * pose_dim)
        votes = torch.bmm(poses.transpose(0, 1), weight)
        return votes.unflatten(2, (secondary, pose_dim)).permute(1, 2, 0, 3)
