"""What clients read from the server is what lies there, in spite of its faults."""

import random
from pathlib import Path

import pytest

from benchmarks.store import BUCKET, READ, WRITTEN, ours, server


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "VTR_S3_PATIENCE_S")
    for name in names:
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.parametrize("fault", ["none", "cut", "reset"])
def test_an_object_is_read_and_written(fault: str, tmp_path: Path) -> None:
    content = random.Random(0).randbytes(2**16)
    (tmp_path / BUCKET).mkdir()
    (tmp_path / BUCKET / READ).write_bytes(content)
    with server(tmp_path, fault) as endpoint:
        client = ours(endpoint)
        for begin in range(0, 2**16, 2**13):
            assert bytes(client.read(begin, begin + 2**13)) == content[begin : begin + 2**13]
        client.write(content)
    assert content in (tmp_path / BUCKET / WRITTEN).read_bytes()
