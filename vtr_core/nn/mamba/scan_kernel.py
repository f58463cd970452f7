"""The selective scan of mamba-ssm, compiled for CUDA."""

from importlib.util import find_spec

import torch
from jaxtyping import Float
from torch import Tensor

from vtr_core.errors import ConfigError

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


def kernel_scan(
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
    """`selective_scan` by mamba-ssm's kernel: float32, bfloat16 or float16 on a CUDA device, at most 256 states.

    Its gradients are summed by atomic additions, so their last bits differ from run to run. Raises ConfigError where
    mamba-ssm is not installed, or for a device or dtype that the kernel does not support.
    """
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
    delta, B, C = delta.to(u.dtype), _as_taken(B, u), _as_taken(C, u)
    gate = None if z is None else z.to(u.dtype)
    skip, bias = (None if values is None else values.float() for values in (D, delta_bias))
    return selective_scan_fn(u, delta, A.float(), B, C, skip, gate, bias, delta_softplus)


def _as_taken(weights: Float[Tensor, "..."], u: Tensor) -> Float[Tensor, "..."]:
    """B or C in the dtype that the kernel expects: float32 for constant ones, which are parameters, else that of u."""
    return weights.float() if weights.dim() == 2 else weights.to(u.dtype)
