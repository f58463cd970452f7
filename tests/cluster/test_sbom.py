"""The bills of materials of the images name what the lock pins, with its hashes."""

from pathlib import Path

import pytest

from cluster.sbom import Pin, bill, image_pins, read_lock
from tests.distribution.project import ROOT, pins

LOCKS = ROOT / "requirements"
LOCK = """\
one==1.0 \\
    --hash=sha256:{a} \\
    --hash=sha256:{b}
two==2.0 ; sys_platform == 'win32' \\
    --hash=sha256:{a}
three==3.0.post1 ; python_full_version < '3.13' and sys_platform == 'linux' \\
    --hash=sha256:{b}
"""


def test_a_lock_is_read_as_linux_reads_it(tmp_path: Path) -> None:
    a, b = "a" * 64, "b" * 64
    (tmp_path / "core.txt").write_text(LOCK.format(a=a, b=b))
    assert list(read_lock(tmp_path / "core.txt")) == [Pin("one", "1.0", (a, b)), Pin("three", "3.0.post1", (b,))]


@pytest.mark.parametrize("cuda", [False, True])
def test_an_image_has_what_its_locks_have(cuda: bool) -> None:
    found = {pin.name: pin for pin in image_pins(LOCKS, cuda)}
    assert list(found) == sorted(found)
    assert {"ray", "torch", "numba", "psycopg2-binary"} <= found.keys()
    assert ("mamba-ssm" in found) == ("nvidia-cudnn-cu13" in found) == cuda
    assert "pywin32" not in found
    version, hashes = pins(LOCKS / "core.txt")["ray"]
    assert (found["ray"].version, len(found["ray"].hashes)) == (version, hashes)
    assert [name for name, pin in found.items() if not pin.hashes] == ([] if cuda else ["torch"])


def test_every_component_is_what_the_image_depends_on() -> None:
    made = bill("vtr:cpu", "1.2", [Pin("one", "1.0", ("a" * 64,)), Pin("torch", "2.0", ())])
    one, torch = made["components"]  # type: ignore[misc, str-unpack]
    assert one["purl"] == one["bom-ref"] == "pkg:pypi/one@1.0"  # type: ignore[index]
    (source,) = one["externalReferences"]  # type: ignore[index]
    assert source["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]  # type: ignore[index]
    assert "externalReferences" not in torch
    assert made["dependencies"] == [{"ref": "vtr:cpu", "dependsOn": ["pkg:pypi/one@1.0", "pkg:pypi/torch@2.0"]}]
