"""cluster/slurm.sbatch under stand-ins of Slurm's commands: Ray on all nodes, a requeued job resumes, none is left."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drills import runs
from tests.drills.nodes import config, reaches, train_command
from tests.local_cluster import network, processes
from tests.local_cluster.naming import Names
from tests.local_cluster.network import INTERFACE, free_subnet

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "cluster" / "slurm.sbatch"
JOB = "4711"


class Allocation:
    """Two nodes that Slurm has given to a job, which is started on the first one as often as it is queued."""

    def __init__(self, folder: Path, names: Names, addresses: list[str]) -> None:
        self.folder, self.names = folder, names
        self.requeued = folder / "requeued"
        commands = folder / "bin"
        commands.mkdir()
        for name in ("srun", "scontrol"):
            (commands / name).symlink_to(ROOT / "tests" / "cluster" / "slurm_commands.py")
        (commands / "vtr").write_text(f'#!/bin/sh\nexec {sys.executable} -m pipelines.cli "$@"\n')
        (commands / "vtr").chmod(0o755)
        places = [str(commands), str(Path(sys.executable).parent), os.environ["PATH"]]
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("RAY_")},
            "PATH": ":".join(places),
            "SLURM_JOB_ID": JOB,
            "SLURM_JOB_NODELIST": ",".join(addresses),
            "SLURM_JOB_NUM_NODES": str(len(addresses)),
            "SLURM_CPUS_ON_NODE": "3",
            "NAMESPACES": ",".join(names.node(index) for index in range(len(addresses))),
            "REQUEUED": str(self.requeued),
            "GLOO_SOCKET_IFNAME": INTERFACE,
        }

    def batch(self, *arguments: str) -> "subprocess.Popen[str]":
        """The job's script on the first node, with the arguments of `vtr train`."""
        command = network.inside(self.names, 0, ["bash", str(SCRIPT), *arguments])
        return subprocess.Popen(
            command, env=self.environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def processes(self) -> set[int]:
        """What runs on the nodes."""
        return {pid for index in range(2) for pid in processes.in_namespace(self.names.node(index))}


@pytest.fixture
def allocation(tmp_path: Path) -> Iterator[Allocation]:
    """Two namespaces, removed at the end with what runs in them."""
    if (obstacle := network.why_no_namespaces()) is not None:
        pytest.skip(obstacle)
    names = Names.fresh()
    subnet = free_subnet(network.addresses_in_use(), first=int(names.suffix[:2], 16))
    nodes = Allocation(tmp_path, names, [subnet.node(index) for index in range(2)])
    try:
        for command in network.bridge_commands(names, subnet):
            network.run(command)
        for index in range(2):
            for command in network.node_commands(names, subnet, index):
                network.run(command)
        yield nodes
    finally:
        processes.end(lambda: nodes.processes() & processes.parents().keys())
        network.remove(names)


@pytest.mark.integration
@pytest.mark.long
@pytest.mark.linux
def test_a_job_whose_time_is_over_is_queued_again_and_resumes_its_run(
    allocation: Allocation, world: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    *_, config_flag, file, data_flag, data, out_flag, out = train_command(world, run, config())
    arguments = [config_flag, file, data_flag, data, out_flag, out]

    first = allocation.batch(*arguments)
    runs.wait_until(reaches(run, 15), first)
    os.kill(first.pid, signal.SIGTERM)  # `ip netns exec` has become the script
    output, _ = first.communicate(timeout=600)
    assert first.returncode != 0, output
    assert "stopping after this step" in output
    assert allocation.requeued.read_text() == JOB
    assert allocation.processes() & processes.parents().keys() == set()

    second = allocation.batch(*arguments)
    output, _ = second.communicate(timeout=3600)
    assert second.returncode == 0, output
    assert max(runs.steps(run)) == runs.steps(run)[-1] == 140
    assert allocation.processes() & processes.parents().keys() == set()


def test_a_job_without_a_place_for_its_run_is_refused() -> None:
    command = ["bash", str(SCRIPT), "capsule-howto", "--data", "/shared/howto"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--out" in done.stderr
