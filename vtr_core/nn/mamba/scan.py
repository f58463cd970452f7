"""The selective scan of a state space model: in plain torch on any device, or compiled for CUDA."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, assert_never

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from vtr_core.config.towers import ScanBackend
from vtr_core.errors import ConfigError
from vtr_core.nn.mamba.scan_chunks import CHUNK, ScanArguments, add_gradients, chunks, scan_rows

EXTENSION = "selective_scan_cuda"
"""The compiled part of mamba-ssm; a wheel that was built without CUDA lacks it."""
_INSTALL = (
    "build and install it (the extra `mamba`) with `make mamba-wheels install-mamba` on a machine with nvcc, "
    "or use scan_backend = reference"
)


def kernel_missing() -> str | None:
    """The reason why the kernel cannot be imported, checked without importing it; None where none is found."""
    for module, needed in (("mamba_ssm", "mamba-ssm"), (EXTENSION, "mamba-ssm, compiled with CUDA")):
        if find_spec(module) is None:
            return f"no module {module} ({needed})"
    return None


def kernel_scan(scanned: ScanArguments) -> Float[Tensor, "batch dim length"]:
    """`selective_scan` by mamba-ssm's kernel: float32, bfloat16 or float16 on a CUDA device, at most 256 states.

    Its gradients are summed by atomic additions, so their last bits differ from run to run. Raises ConfigError where
    mamba-ssm is not installed, or for a device or dtype that the kernel does not support.
    """
    u = scanned.u
    if not u.is_cuda or u.dtype == torch.float64:
        raise ConfigError(
            f"scan_backend = kernel computes in float32 or less on a CUDA device, the tensors are {u.dtype} on "
            f"{u.device}; use scan_backend = auto or reference"
        )
    missing = kernel_missing()
    if missing is not None:
        raise ConfigError(f"scan_backend = kernel: {missing}; {_INSTALL}")
    try:  # takes seconds, and needs more modules than the kernel itself
        from mamba_ssm.ops.selective_scan_interface import selective_scan_fn
    except ImportError as error:
        raise ConfigError(f"scan_backend = kernel: mamba-ssm cannot be imported: {error}; {_INSTALL}") from error
    gate = None if scanned.z is None else scanned.z.to(u.dtype)
    skip, bias = (None if values is None else values.float() for values in (scanned.D, scanned.delta_bias))
    return selective_scan_fn(
        u,
        scanned.delta.to(u.dtype),
        scanned.A.float(),
        scanned.B.to(u.dtype),
        scanned.C.to(u.dtype),
        skip,
        gate,
        bias,
        scanned.delta_softplus,
    )


_STATES = 2**19
"""Elements in a block of states on the CPU: rows are scanned a few at a time so that a block fits the cache."""


def reference_scan(scanned: ScanArguments) -> Float[Tensor, "batch dim length"]:
    """`selective_scan` in plain torch, without a compiled kernel; the same arguments and result.

    It computes in float32, or in float64 for float64 inputs. Only the state before every chunk of 32 steps is stored,
    and the backward pass recomputes the states within a chunk from it: memory holds one of every 32 states, and the
    time is linear in the sequence length.
    """
    scan: Tensor = _SelectiveScan.apply(*scanned.tensors(), scanned.delta_softplus, torch.is_grad_enabled())
    return scan


class _SelectiveScan(torch.autograd.Function):
    """The scan; keep: whether to store what the backward pass needs."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        *tensors, delta_softplus, keep = arguments
        scanned = ScanArguments(*[*tensors, delta_softplus])
        out = torch.empty_like(scanned.u)
        batch, _, length = scanned.u.shape
        shape = (len(chunks(length)), batch, *scanned.A.T.shape)
        starts = scanned.u.new_empty(shape, dtype=scanned.dtype) if keep else None
        with torch.autocast(out.device.type, enabled=False):
            for rows in _row_blocks(scanned):
                scan_rows(scanned.rows(rows), out[rows], None if starts is None else starts[:, rows])
        ctx.delta_softplus = delta_softplus
        ctx.save_for_backward(*scanned.tensors(), starts)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        *tensors, starts = ctx.saved_tensors
        scanned = ScanArguments(*[*tensors, ctx.delta_softplus])
        gradients = scanned.zeros()
        with torch.autocast(grad.device.type, enabled=False):
            for rows in _row_blocks(scanned):
                add_gradients(scanned.rows(rows), grad[rows], starts[:, rows], gradients.rows(rows))
        return (*gradients.in_dtypes_of(tensors), None, None)


def _row_blocks(scanned: ScanArguments) -> list[slice]:
    """The blocks of rows scanned at once; a single one on a GPU, where kernel launches cost more than memory access."""
    batch, _, length = scanned.u.shape
    states = min(CHUNK, length) * scanned.A.numel()
    height = batch if scanned.u.is_cuda else _STATES // max(1, states)
    return [slice(first, first + max(1, height)) for first in range(0, batch, max(1, height))]


@dataclass(frozen=True)
class ScanChoice:
    """The backend of a scan, and the reason for it."""

    name: Literal["kernel", "reference"]
    reason: str


def scan_backend(
    device: torch.device | str, backend: ScanBackend = "auto", dtype: torch.dtype = torch.float32
) -> ScanChoice:
    """The backend that `backend` selects for tensors of `dtype` on `device`, without importing it."""
    match backend:
        case "kernel" | "reference":
            return ScanChoice(backend, "as configured")
        case "auto":
            return _automatic(torch.device(device), dtype)
        case _:
            assert_never(backend)


def selective_scan(
    u: Float[Tensor, "batch dim length"],
    delta: Float[Tensor, "batch dim length"],
    A: Float[Tensor, "dim state"],
    B: Float[Tensor, "batch state length"],
    C: Float[Tensor, "batch state length"],
    D: Float[Tensor, " dim"] | None = None,
    z: Float[Tensor, "batch dim length"] | None = None,
    delta_bias: Float[Tensor, " dim"] | None = None,
    delta_softplus: bool = False,
    backend: ScanBackend = "auto",
) -> Float[Tensor, "batch dim length"]:
    """y_t = (C_t h_t + D u_t) · silu(z_t)   with   h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t u_t   and   h_0 = 0.

    Δ = delta + delta_bias, or its softplus with `delta_softplus`. Without D there is no skip, without z no gate. It is
    computed in float32 (in float64 for float64 inputs) and returned in the dtype of u. Source: Gu and Dao 2023,
    Algorithm 2; arguments and result are those of mamba-ssm's `selective_scan_fn`, without its groups of B and C.
    Raises ConfigError where `backend` is `kernel` and cannot run.
    """
    scanned = ScanArguments(u, delta, A, B, C, D, z, delta_bias, delta_softplus)
    if u.numel() == 0:  # the kernel cannot be launched on empty tensors
        return reference_scan(scanned)
    match scan_backend(u.device, backend, u.dtype).name:
        case "kernel":
            return kernel_scan(scanned)
        case "reference":
            return reference_scan(scanned)


def _automatic(device: torch.device, dtype: torch.dtype) -> ScanChoice:
    if device.type != "cuda":
        return ScanChoice("reference", f"mamba-ssm's kernel runs on CUDA devices, this is {device.type}")
    if dtype == torch.float64:
        return ScanChoice("reference", "mamba-ssm's kernel does not compute in float64")
    missing = kernel_missing()
    if missing is not None:
        return ScanChoice("reference", missing)
    return ScanChoice("kernel", "mamba-ssm's kernel is installed")
