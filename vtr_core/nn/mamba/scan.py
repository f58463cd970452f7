"""The selective scan of a state space model, and where it is computed."""

from dataclasses import dataclass
from typing import Literal, assert_never

import torch
from jaxtyping import Float
from torch import Tensor

from vtr_core.config.blocks.learners import ScanBackend
from vtr_core.nn.mamba.scan_kernel import kernel_missing, kernel_scan
from vtr_core.nn.mamba.scan_reference import reference_scan


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
    B: Float[Tensor, "..."],
    C: Float[Tensor, "..."],
    D: Float[Tensor, " dim"] | None = None,
    z: Float[Tensor, "batch dim length"] | None = None,
    delta_bias: Float[Tensor, " dim"] | None = None,
    delta_softplus: bool = False,
    backend: ScanBackend = "auto",
) -> Float[Tensor, "batch dim length"]:
    """y_t = (C_t h_t + D u_t) · silu(z_t)   with   h_t = exp(Δ_t A) h_{t-1} + Δ_t B_t u_t   and   h_0 = 0.

    Δ = delta + delta_bias, or the softplus of that with `delta_softplus`. B and C are (batch, state, length),
    (batch, groups, state, length) with channels in equal groups, or constant (dim, state). Without D there is no skip,
    without z no gate. It is computed in float32 (in float64 for float64 inputs) and returned in the dtype of u.
    Source: Gu and Dao 2023, Algorithm 2; the arguments and the result are those of mamba-ssm's `selective_scan_fn`.
    Raises ConfigError where `backend` is `kernel` and cannot run.
    """
    arguments = (u, delta, A, B, C, D, z, delta_bias, delta_softplus)
    if u.numel() == 0:  # the kernel cannot be launched on empty tensors
        return reference_scan(*arguments)
    match scan_backend(u.device, backend, u.dtype).name:
        case "kernel":
            return kernel_scan(*arguments)
        case "reference":
            return reference_scan(*arguments)


def _automatic(device: torch.device, dtype: torch.dtype) -> ScanChoice:
    if device.type != "cuda":
        return ScanChoice("reference", f"mamba-ssm's kernel runs on CUDA devices, this is {device.type}")
    if dtype == torch.float64:
        return ScanChoice("reference", "mamba-ssm's kernel does not compute in float64")
    missing = kernel_missing()
    if missing is not None:
        return ScanChoice("reference", missing)
    return ScanChoice("kernel", "mamba-ssm's kernel is installed")
