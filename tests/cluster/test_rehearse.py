"""Several nodes on one machine: a driver finds them, a lost one is noticed, and Ctrl-C ends all."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from cluster.rehearse import instructions

LOSE_ONE = """
import os, signal, sys, time, ray
ray.init(log_to_driver=False, logging_level="ERROR")
alive = lambda: len([node for node in ray.nodes() if node["Alive"]])
assert alive() == 2
os.kill(int(sys.argv[1]), signal.SIGKILL)
while alive() == 2:
    time.sleep(0.1)
"""
"""Its exit status says what it found: a thread of Ray's writes about the lost node to stdout, at any time."""


def test_the_instructions_name_addresses_and_processes() -> None:
    said = instructions("10.0.0.1:6379", "0123", "127.0.0.1:8265", [11, 12], cpus=4)
    assert "3 nodes of 4 CPUs" in said
    assert "kill -9 PID, with one of 11 12" in said
    assert "ray start --address 10.0.0.1:6379 " in said
    assert "vtr submit --address http://127.0.0.1:8265 " in said


def ignoring() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.fixture
def started() -> Iterator["subprocess.Popen[str]"]:
    """A rehearsal with SIGINT ignored, as for a script's background commands; SIGTERM ends it whatever the test did."""
    command = [sys.executable, "-m", "cluster.rehearse", "--nodes", "2", "--cpus", "1"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ, preexec_fn=ignoring) as process:
        yield process
        process.send_signal(signal.SIGTERM)


@pytest.mark.integration
@pytest.mark.long
def test_a_node_is_lost(started: "subprocess.Popen[str]") -> None:
    assert started.stdout is not None
    said = "".join(iter(started.stdout.readline, "Ctrl-C ends all.\n"))
    settings = re.search(r"export (.*)", said)
    lost = re.search(r"with one of (\d+)", said)
    assert settings is not None
    assert lost is not None
    environ = os.environ | dict(setting.split("=", 1) for setting in settings[1].split())
    done = subprocess.run([sys.executable, "-c", LOSE_ONE, lost[1]], env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    started.send_signal(signal.SIGINT)
    assert started.wait(timeout=600) == 0
    assert started.stdout.read().strip() == "ended"
