"""The arguments of a selective scan for one group of channels; their gradients have the same fields."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class ScanArguments:
    """The arguments of `selective_scan` with B and C of at most one group."""

    u: Float[Tensor, "batch dim length"]
    delta: Float[Tensor, "batch dim length"]
    A: Float[Tensor, "dim state"]
    B: Float[Tensor, "..."]
    """(batch, state, length), or (dim, state) where it is constant."""
    C: Float[Tensor, "..."]
    """As B."""
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
        B, C = (weights[rows] if weights.dim() == 3 else weights for weights in (self.B, self.C))
        return replace(self, u=self.u[rows], delta=self.delta[rows], B=B, C=C, z=gate)

    def tensors(self) -> list[Tensor | None]:
        """All fields but `delta_softplus`, in their order."""
        return [self.u, self.delta, self.A, self.B, self.C, self.D, self.z, self.delta_bias]

    def zeros(self) -> "ScanArguments":
        """Zeros to accumulate gradients in; sums over steps or channels are in the dtype of the computation."""
        return replace(
            self,
            u=torch.zeros_like(self.u),
            delta=torch.zeros_like(self.delta),
            z=None if self.z is None else torch.zeros_like(self.z),
            A=self._sums(self.A),
            B=self._sums(self.B),
            C=self._sums(self.C),
            D=None if self.D is None else self._sums(self.D),
            delta_bias=None if self.delta_bias is None else self._sums(self.delta_bias),
        )

    def gradients(self, arguments: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The tensors in the dtypes of `arguments`; None where an argument is None."""
        pairs = zip(self.tensors(), arguments, strict=True)
        return [None if own is None or given is None else own.to(given.dtype) for own, given in pairs]

    def _sums(self, values: Tensor) -> Tensor:
        return torch.zeros(values.shape, dtype=self.dtype, device=values.device)
