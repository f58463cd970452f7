"""The page of extraction beside its limit and beside others (benchmarks/extract)."""

from collections.abc import Mapping, Sequence
from typing import Any


def markdown(figures: Mapping[str, Any]) -> str:
    """The figures as a page."""
    found, memory = figures["found"], figures["memory"]
    rays = ""
    if "ray_s" in found:
        rays = (
            f"| extraction by Ray Data, on the clock, start of its actors included | {found['ray_s']:.1f} |\n"
            f"| the same of half of the videos | {found['ray_half_s']:.1f} |\n"
        )
    held = "\n".join(f"| {what} | {one['process']:.2f} | {one['decoder']:.2f} |" for what, one in memory.items())
    by_ray, start = "", ""
    if rays:
        by_ray = f", by Ray Data **{found['ray_share_of_limit']:.2f}**"
        start = (
            f" By Ray Data {found['ray_start_s']:.1f} s do not grow with the number of videos; of the rest it reaches "
            f"**{found['ray_share_of_many']:.2f}**, which is the share of a long extraction."
        )
    return f"""# Extraction beside its limit, and beside others

{figures["videos"]} videos, {", ".join(figures["recipes"])}, {figures["processor"]}; av \
{figures["versions"]["av"]}, torch {figures["versions"]["torch"]}; medians of {figures["repeats"]} rounds, load \
{found["load"]:.1f} in the middle of them. `{figures["command"]}`

| | seconds |
|---|---:|
| decoding alone, one thread, processor time | {found["decoding_s"]:.1f} |
| networks alone, one thread, processor time | {found["networks_s"]:.1f} |
| extraction in one process with its decoders, on the clock | {found["extraction_s"]:.1f} |
| the same, processor time | {found["extraction_processor_s"]:.1f} |
{rays}
The limit is both alone, perfectly overlapped on all cores. Extraction reaches **{found["share_of_limit"]:.2f}** of it \
on the clock{by_ray}, and spends **{found["share_of_processor"]:.2f}** of its processor time on nothing \
else.{start} On a machine that does other work the first is of what was left of it: a load of {figures["cores"]} is \
this work alone, and of a busier machine only processor times are to be believed.
{_peers_table(found, figures["peers"], figures["cores"])}
| peak memory, GB | process | decoder, its start as a copy of the process included |
|---|---:|---:|
{held}
"""


def _peers_table(found: Mapping[str, float], peers: Sequence[str], cores: int) -> str:
    if not peers:
        return "\nOther extractors were not compared.\n"
    rows = "\n".join(
        f"| {name} | {found[f'{name}_s']:.1f} | {found[f'{name}_processor_s']:.1f} | {found[f'{name}_times']:.2f} | "
        f"{found[f'{name}_times_processor']:.2f} |"
        for name in peers
    )
    best = min(found[f"{name}_times_processor"] for name in peers)
    threads = "All were bound to one core, and each network had one thread."
    if cores > 1:
        threads = (
            "Their networks have a thread for each core, whose waiting for each other counts as processor time, "
            "more on a busy machine; this project's have one. Bound to one core (`taskset --cpu-list 0`) none waits."
        )
    return f"""
Others, files of their own checkouts with the same network in their place for one, pictures alone, a frame a second:

| | seconds on the clock | of processors | times ours, clock | times ours, processors |
|---|---:|---:|---:|---:|
| this project | {found["ours_s"]:.1f} | {found["ours_processor_s"]:.1f} | 1 | 1 |
{rows}

Per second of processor time it is **{best:.2f}** times as fast as the best of them (the goal was 2). {threads}
"""
