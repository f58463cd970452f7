"""The Mamba mixer: a gated, selective state space model over a sequence, in one direction or both."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, assert_never

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import linear, silu
from torch.utils.checkpoint import checkpoint

from vtr_core.config.towers import MambaLearner
from vtr_core.nn.mamba.scan import scan_backend, selective_scan
from vtr_core.nn.precision import at_least_float32

SHORTEST, LONGEST = 1e-3, 1e-1
"""Bounds of a channel's initial Δ, which is log-uniform between them (Gu and Dao 2023, section 3.6)."""


@torch.no_grad()
def init_step_sizes(projection: nn.Linear) -> None:
    """Draw the weights and bias of Δ = softplus(W dt + b) so that softplus(b) is log-uniform and W keeps variances."""
    bound = projection.in_features**-0.5
    nn.init.uniform_(projection.weight, -bound, bound)
    step = nn.init.uniform_(projection.bias, math.log(SHORTEST), math.log(LONGEST)).exp()
    projection.bias.copy_(step + torch.log(-torch.expm1(-step)))  # softplus' inverse


CHANNELS_PER_RANK = 16
"""The step sizes Δ of all inner channels are projected from a vector of dim / 16 numbers (Gu and Dao 2023)."""


class MambaMixer(nn.Module):
    """W_out y,   y = scan(u) · silu(z),   u = silu(conv(x)),   [x, z] = W_in tokens   (Gu and Dao 2023, Figure 3).

    The convolution is causal, and Δ, B and C of a step are linear in u. Directions (Zhu et al. 2024, Algorithm 1):
    `none` scans forward only. `v1` adds a backward scan over the same u, Δ, B, C with its own A. `v2` adds a direction
    that reads x and z backward with its own convolution, Δ, B, C, A and D. Directions are summed. Names and shapes of
    the weights are those of Vision Mamba, so that its state dicts can be loaded.

    mask: a row's valid tokens come first; the padding after them does not influence their outputs.
    """

    def __init__(self, dim: int, config: MambaLearner) -> None:
        super().__init__()
        inner = config.expansion * dim
        self.config = config
        self.in_proj = nn.Linear(dim, 2 * inner, bias=False)
        self.conv1d = _convolution(inner, config.conv)
        self.x_proj, self.dt_proj = _projections(dim, inner, config.state)
        self.A_log = _decays(inner, config.state)
        self.D = nn.Parameter(torch.ones(inner))
        if config.scan != "none":
            self.A_b_log = _decays(inner, config.state)
        if config.scan == "v2":
            self.conv1d_b = _convolution(inner, config.conv)
            self.x_proj_b, self.dt_proj_b = _projections(dim, inner, config.state)
            self.D_b = nn.Parameter(torch.ones(inner))
        self.out_proj = nn.Linear(inner, dim, bias=False)

    def forward(
        self, tokens: Float[Tensor, "batch tokens dim"], mask: Bool[Tensor, "batch tokens"] | None = None
    ) -> Float[Tensor, "batch tokens dim"]:
        """The mixed tokens; those that `mask` leaves out are undefined."""
        x, z = self.in_proj(tokens).transpose(1, 2).chunk(2, dim=1)
        valid = None if mask is None else mask.unsqueeze(1)
        x = _where(valid, x)
        y = _again(self._directions, x, z, valid) if self.config.recompute else self._directions(x, z, valid)
        return self.out_proj(y.transpose(1, 2))

    def undecayed(self) -> list[nn.Parameter]:
        """A_log and A_b_log, which have no weight decay: pulled towards 0, they would pull all A to −1."""
        return [self.A_log] if self.config.scan == "none" else [self.A_log, self.A_b_log]

    def _directions(self, x: Tensor, z: Tensor, valid: Tensor | None) -> Float[Tensor, "batch inner tokens"]:
        steps = self._steps(x, valid, False, self.conv1d, self.x_proj, self.dt_proj)
        forward = self._scan(steps, z, self.A_log, self.D, self.dt_proj)
        match self.config.scan:
            case "none":
                return forward
            case "v1":
                backward = self._scan(steps.flip(), z.flip(2), self.A_b_log, self.D, self.dt_proj)
            case "v2":
                steps = self._steps(x, valid, True, self.conv1d_b, self.x_proj_b, self.dt_proj_b)
                backward = self._scan(steps, z.flip(2), self.A_b_log, self.D_b, self.dt_proj_b)
            case _:
                assert_never(self.config.scan)
        return forward + backward.flip(2)

    def _steps(
        self,
        x: Tensor,
        valid: Tensor | None,
        backward: bool,
        convolution: nn.Conv1d,
        x_proj: nn.Linear,
        dt_proj: nn.Linear,
    ) -> "_Steps":
        """The inputs of the scan in one direction; u's convolution is cheap and recomputed in the backward pass."""
        inputs = (x, valid, backward, convolution)
        u = self._inputs(*inputs) if self.config.recompute else _again(self._inputs, *inputs)
        projected = torch.matmul(x_proj.weight, u)
        dt, B, C = projected.split([dt_proj.in_features, self.config.state, self.config.state], dim=1)
        return _Steps(u, linear(dt.transpose(1, 2), dt_proj.weight).transpose(1, 2), B, C)

    def _inputs(
        self, x: Tensor, valid: Tensor | None, backward: bool, convolution: nn.Conv1d
    ) -> Float[Tensor, "batch inner tokens"]:
        """u, from the last token to the first if `backward`.

        It is 0 at padding, where the output of the convolution need not be 0 and would change the state.
        """
        if backward:
            x, valid = x.flip(2), None if valid is None else valid.flip(2)
        convolved = convolution(x)[:, :, : x.shape[2]]
        if scan_backend(x.device, self.config.scan_backend, x.dtype).name == "reference":
            # the channels of each step contiguous in memory, as the reference scan reads them
            convolved = convolved.transpose(1, 2).contiguous().transpose(1, 2)
        return _where(valid, silu(convolved))

    def _scan(
        self, steps: "_Steps", z: Tensor, A_log: Tensor, D: Tensor, dt_proj: nn.Linear
    ) -> Float[Tensor, "batch inner tokens"]:
        A, backend = -torch.exp(at_least_float32(A_log)), self.config.scan_backend
        return selective_scan(
            steps.u, steps.delta, A, steps.B, steps.C, D, z, dt_proj.bias, delta_softplus=True, backend=backend
        )


@dataclass(frozen=True)
class _Steps:
    """The inputs of the selective scan of one direction; Δ before its bias and softplus."""

    u: Float[Tensor, "batch inner tokens"]
    delta: Float[Tensor, "batch inner tokens"]
    B: Float[Tensor, "batch state tokens"]
    C: Float[Tensor, "batch state tokens"]

    def flip(self) -> "_Steps":
        """The same steps from the last to the first."""
        return _Steps(self.u.flip(2), self.delta.flip(2), self.B.flip(2), self.C.flip(2))


def _again(function: Callable[..., Tensor], *inputs: Any) -> Tensor:
    """The function's result; for gradients the inputs are stored, and the rest is recomputed in the backward pass."""
    if not torch.is_grad_enabled():
        return function(*inputs)
    result: Tensor = checkpoint(function, *inputs, use_reentrant=False, preserve_rng_state=False)
    return result


def _where(valid: Bool[Tensor, "batch 1 tokens"] | None, values: Tensor) -> Float[Tensor, "batch inner tokens"]:
    return values if valid is None else torch.where(valid, values, 0)


def _convolution(inner: int, width: int) -> nn.Conv1d:
    return nn.Conv1d(inner, inner, width, groups=inner, padding=width - 1)


def _projections(dim: int, inner: int, state: int) -> tuple[nn.Linear, nn.Linear]:
    rank = math.ceil(dim / CHANNELS_PER_RANK)
    dt_proj = nn.Linear(rank, inner)
    init_step_sizes(dt_proj)
    return nn.Linear(inner, rank + 2 * state, bias=False), dt_proj


def _decays(inner: int, state: int) -> nn.Parameter:
    """log(−A), A = −1, …, −state in every channel (S4D-Real, Gu et al. 2022)."""
    return nn.Parameter(torch.tensor([float(n) for n in range(1, state + 1)]).log().repeat(inner, 1))
