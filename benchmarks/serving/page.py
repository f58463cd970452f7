"""The load test's figures as a page."""

from collections.abc import Mapping
from typing import Any

P99_MS = 300.0
"""Goal."""
SIZE = {"clients": 50, "clips": 100_000, "seconds": 60}
"""What the goal is for; it is not judged by less."""


def markdown(figures: Mapping[str, Any]) -> str:
    """The page."""
    rows = [_row(name, run) for name, run in figures["runs"].items()]
    kinds = ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
    return "\n".join(
        [
            f"# {figures['clients']} clients search {figures['clips']:,} clips",
            "",
            f"For {figures['seconds']:g} s each, over HTTP, from a process on the same machine. {_how(figures)}",
            f"The clips are generated: one vector of {figures['dim']} dimensions each, compared by cosine with every",
            f"query, exactly. Queries are embedded by the text tower of {figures['preset']} with random weights.",
            "",
            "| clients ask | answers | faults | per second | p50 ms | p90 ms | p99 ms | slowest ms | load before |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
            *rows,
            "",
            f"Goal: no fault, p99 at most {P99_MS:g} ms: {_judged(figures)}.",
            f"A batch had {figures['runs']['without pause']['queries_of_a_batch']:.1f} queries on average. "
            f"The clients took {_clients_percent(figures):.0f} % of a core. HTTP was read by {figures['http']}.",
            "The load is the machine's mean number of processes that want a core, in the minute before.",
            "",
            f"On {figures['machine']}; {kinds}; `{figures['command']}`.",
            "",
        ]
    )


def _judged(figures: Mapping[str, Any]) -> str:
    """Which runs reach the goal, where there were as many clients and clips, for as long, as it is for."""
    if any(figures[name] < least for name, least in SIZE.items()):
        size = f"{SIZE['clients']} clients, {SIZE['clips']:,} clips and {SIZE['seconds']} s"
        return f"not judged, as it is for {size}"
    missed = [name for name, run in figures["runs"].items() if run["p99_ms"] > P99_MS or run["faults"]]
    reached = [name for name in figures["runs"] if name not in missed]
    return "; ".join([*(f"reached {name}" for name in reached), *(f"**not reached** {name}" for name in missed)])


def _clients_percent(figures: Mapping[str, Any]) -> float:
    return 100 * max(run["clients_cores"] for run in figures["runs"].values())


def _how(figures: Mapping[str, Any]) -> str:
    if not figures["ray"]:
        return "The server is one process."
    killed = " One replica is killed after half of the time." if figures["kill"] else ""
    return f"The server has {figures['replicas']} replicas of {figures['shards']} shards on Ray Serve.{killed}"


def _row(name: str, run: Mapping[str, Any]) -> str:
    faults = ", ".join(f"{count} {kind}" for kind, count in run["faults"].items()) or "0"
    times = " | ".join(f"{run[f'p{share}_ms']:.0f}" for share in (50, 90, 99, 100))
    return f"| {name} | {run['answers']:,} | {faults} | {run['per_second']:.0f} | {times} | {run['load_before']:.1f} |"
