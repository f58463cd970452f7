"""Checks of torch, its GPUs, and the backend of MUSE's selective scan."""

import importlib
from collections.abc import Callable

from pipelines.doctor.findings import MAMBA, Finding
from vtr_core.errors import one_line

SECTION = "torch"
KERNEL = "mamba_ssm.ops.selective_scan_interface"


def torch_findings() -> list[Finding]:
    """Findings on torch's version and CUDA, each GPU with its memory, and the scan."""
    try:
        import torch
    except Exception as error:  # whatever a compiled module raises
        remedy = "install it anew: pip install torch"
        return [Finding(SECTION, "torch", "broken", f"cannot be imported ({one_line(str(error))})", remedy)]
    usable = torch.cuda.is_available()
    cuda = f"CUDA {torch.version.cuda}" if torch.version.cuda else "without CUDA"
    return [
        Finding(SECTION, "torch", "ok", f"{torch.__version__}, {cuda}"),
        *_gpus(usable, torch.version.cuda is not None),
        scan_finding("cuda" if usable else "cpu"),
    ]


def _gpus(usable: bool, built: bool) -> list[Finding]:
    from vtr_core.tracking.environment import gpus

    found = gpus()
    if not found:
        return [Finding(SECTION, "GPUs", "ok", "none, everything runs on the CPU")]
    remedy = "" if usable else "install a newer driver" if built else "install the torch of your CUDA"
    what = "" if usable else ", which torch cannot use"
    return [
        Finding(
            SECTION,
            f"GPU {index}",
            "ok" if usable else "warning",
            f"{gpu['name']}, {gpu['memory_gb']} GB, driver {gpu['driver']}{what}",
            remedy,
        )
        for index, gpu in enumerate(found)
    ]


def scan_finding(device: str, load: Callable[[str], object] = importlib.import_module) -> Finding:
    """The scan backend that `auto` selects on `device`; broken where its kernel cannot be imported."""
    from vtr_core.nn.mamba.scan import scan_backend

    choice = scan_backend(device)
    name, what = "selective scan", f"auto takes {choice.name}: {choice.reason}"
    if choice.name == "reference":
        return Finding(SECTION, name, "warning" if device == "cuda" else "ok", what, MAMBA if device == "cuda" else "")
    try:
        load(KERNEL)
    except Exception as error:  # whatever a compiled module raises
        fault = f"{what}, but {KERNEL} cannot be imported ({one_line(str(error))})"
        return Finding(SECTION, name, "broken", fault, f"{MAMBA}; or train with --model.learner.scan-backend reference")
    return Finding(SECTION, name, "ok", what)
