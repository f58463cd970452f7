"""What clients read from the server is what lies there, in spite of its faults."""

import random
from pathlib import Path

import pytest

from benchmarks.store import BUCKET, READ, WRITTEN, markdown, ours, server


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


def test_the_page_compares_with_ours_and_tells_what_a_client_ended_with() -> None:
    turn = {"read": {"mb_per_s": 10.0, "mb_per_cpu_s": 100.0}}
    ended = {"read": {"ended": "OSError: gone"}}
    found = {"none": {"ours": [turn] * 3, "obstore": [{"read": {"mb_per_s": 20.0, "mb_per_cpu_s": 150.0}}] * 3}}
    found["reset"] = {"ours": [turn], "obstore": [ended]}
    page = markdown({"found": found, "device": "a machine", "versions": {"pyarrow": "1"}, "command": "x"})
    assert "| none | read | obstore | 150 (20) | 1.50 |" in page
    assert "| reset | read | obstore | OSError: gone | |" in page
