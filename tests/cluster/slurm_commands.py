#!/usr/bin/env python3
"""Slurm's srun and scontrol, as far as cluster/slurm.sbatch uses them: nodes are network namespaces of one machine.

SLURM_JOB_NODELIST holds the nodes' addresses, comma by comma, NAMESPACES their namespaces in the same order. srun hands
SIGTERM to its tasks, as Slurm's does. `scontrol requeue` writes the job's number to the file REQUEUED.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path


def srun(words: list[str]) -> int:
    """Run a command on the nodes that the flags select; the exit code of the last task that failed."""
    flags = {}
    while words[0].startswith("--"):
        name, _, value = words.pop(0).partition("=")
        flags[name] = value
    namespaces = dict(zip(_nodes(), os.environ["NAMESPACES"].split(","), strict=True))
    selected = [flags["--nodelist"]] if "--nodelist" in flags else [n for n in _nodes() if n != flags["--exclude"]]
    assert len(selected) == int(flags["--nodes"]) == int(flags["--ntasks"])
    tasks = []
    for node in selected:
        environment = {**os.environ, "SLURMD_NODENAME": node, "SLURM_CPUS_ON_NODE": flags["--cpus-per-task"]}
        tasks.append(subprocess.Popen(["ip", "netns", "exec", namespaces[node], *words], env=environment))
    signal.signal(signal.SIGTERM, lambda number, _: [task.send_signal(number) for task in tasks] and None)
    return max(abs(task.wait()) for task in tasks)


def scontrol(words: list[str]) -> int:
    """`show hostnames LIST` and `requeue JOB`."""
    match words:
        case ["show", "hostnames", nodes]:
            sys.stdout.write(nodes.replace(",", "\n") + "\n")
        case ["requeue", job]:
            Path(os.environ["REQUEUED"]).write_text(job)
        case _:
            raise AssertionError(words)
    return 0


def _nodes() -> list[str]:
    return os.environ["SLURM_JOB_NODELIST"].split(",")


if __name__ == "__main__":
    sys.exit({"srun": srun, "scontrol": scontrol}[Path(sys.argv[0]).name](sys.argv[1:]))
