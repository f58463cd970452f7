"""A reader who follows a batch, a training or a search passes few files."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.flows import BATCH, SEARCH, TRAIN

MOST = {BATCH: 20, TRAIN: 90, SEARCH: 55}
"""Files; lower a number when a flow has become shorter."""


@pytest.mark.long
@pytest.mark.integration
def test_the_flows_are_short() -> None:
    """In a process of its own: the checks of calls that tests have are files, too."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "benchmarks.flows"]
    page = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    rows = [line.strip("| ").split(" | ") for line in page.splitlines()[2:]]
    counts = {flow: int(files) for flow, files, _ in rows}
    assert counts.keys() == MOST.keys()
    assert {flow: count for flow, count in counts.items() if not 10 < count <= MOST[flow]} == {}
