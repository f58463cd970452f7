"""Extraction against its limit: decoding alone and the networks alone, of the same videos, perfectly overlapped.

python -m benchmarks.extract --videos FOLDER                 videos of one's own
python -m benchmarks.extract --films 20 --repeats 1          a look at it
taskset --cpu-list 0 python -m benchmarks.extract …          all with one thread, on one core
Writes extract.json and extract.md. All ways are run in turns, each round all of them. Peak memory is of the process and
its decoders.
"""

import json
import logging
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch

from benchmarks.machine import processor
from benchmarks.report.pages import RESULTS, Benchmark
from vtr_core.data.sources.video_files import Inventory
from vtr_core.data.worlds.films import FRAME_RATE, SECONDS, film, frames
from vtr_core.extraction.features import Chosen, Networks, choose, streams
from vtr_core.extraction.outputs import extract_here
from vtr_core.limits import num_usable
from vtr_core.storage import locate
from vtr_core.video.decoding import decode
from vtr_core.video.process import Limits
from vtr_core.video.streams import Chunk, write_video

LONGER = 10
_SCALE, _TIMES = 5, 3
"""Of films: how many times as large, and as many frames."""


@dataclass(frozen=True)
class Flags:
    """What is extracted."""

    videos: str | None = None
    """A folder of video files (default: rendered films of coloured shapes)."""
    films: int = 12
    """Rendered films of 30 seconds, 480 x 480, 24 frames a second."""
    recipe: tuple[str, ...] = ("imagenet-lite", "log-mel")
    """Recipes whose weights are here."""
    repeats: int = 3
    """Rounds that are timed; medians are reported."""
    on_ray: bool = True
    """Whether to extract by Ray Data, too."""
    out: str = str(RESULTS)
    """Folder for extract.json and extract.md."""


@dataclass(frozen=True)
class Spent:
    """What a pass took: seconds on the clock, and of processors, those of its decoders among them."""

    clock: float
    processor: float


def bare_decoding(uris: Sequence[str], chosen: Sequence[Chosen]) -> tuple[Spent, list[Chunk]]:
    """Every video decoded here, one thread, and what the networks are to see."""
    begun, chunks = _now(), []
    for uri in uris:
        chunks += [part for part in decode(locate(uri), streams(chosen)) if isinstance(part, Chunk)]
    return _since(begun), chunks


def bare_networks(chunks: Sequence[Chunk], chosen: Sequence[Chosen]) -> Spent:
    """The networks on what was decoded before, one thread."""
    networks = Networks(chosen, "cpu")
    networks.rows(chunks[0])
    begun = _now()
    for chunk in chunks:
        networks.rows(chunk)
    return _since(begun)


def whole(uris: Sequence[str], chosen: Sequence[Chosen], cores: int) -> Spent:
    """The extraction in one process with its decoders."""
    begun = _now()
    for _ in extract_here(uris, chosen, Limits(), "cpu", cores):
        pass
    return _since(begun)


def on_ray(uris: Sequence[str], chosen: Sequence[Chosen], cores: int) -> float:
    """Seconds of the extraction by Ray Data, with the start of its actors, without that of Ray."""
    import ray

    from vtr_core.extraction.on_ray import Resources, extract_on_ray

    ray.init(
        address="local",
        num_cpus=cores,
        object_store_memory=2**29,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    begun = perf_counter()
    for _ in extract_on_ray(uris, chosen, Limits(), Resources.of(cores, 0, 1)):
        pass
    spent = perf_counter() - begun
    ray.shutdown()
    return spent


def one_round(uris: Sequence[str], chosen: Sequence[Chosen], cores: int, *, ray: bool) -> dict[str, float]:
    """Seconds of every way, once, one after another."""
    decoding, chunks = bare_decoding(uris, chosen)
    networks = bare_networks(chunks, chosen)
    del chunks
    all_ = whole(uris, chosen, cores)
    limit = decoding.processor + networks.processor
    spent = {
        "decoding_s": decoding.processor,
        "networks_s": networks.processor,
        "extraction_s": all_.clock,
        "extraction_processor_s": all_.processor,
        "share_of_limit": limit / cores / all_.clock,
        "share_of_processor": limit / all_.processor,
        "load": os.getloadavg()[0],
    }
    if ray:
        spent["ray_s"] = on_ray(uris, chosen, cores)
        spent["ray_share_of_limit"] = limit / cores / spent["ray_s"]
        spent |= _start(spent["ray_s"], on_ray(uris[: len(uris) // 2], chosen, cores), limit / cores)
    return spent


def _start(all_s: float, half_s: float, limit_s: float) -> dict[str, float]:
    """What Ray Data takes for any number of videos, and its share of the limit without that; halves are alike."""
    growth = max(all_s - half_s, 1e-9)
    return {"ray_half_s": half_s, "ray_start_s": half_s - growth, "ray_share_of_many": limit_s / 2 / growth}


def compare(uris: Sequence[str], chosen: Sequence[Chosen], cores: int, repeats: int, *, ray: bool) -> dict[str, float]:
    """Medians over rounds; ratios are of a round each."""
    rounds = [one_round(uris, chosen, cores, ray=ray) for _ in range(repeats)]
    return {name: median(spent[name] for spent in rounds) for name in rounds[0]}


def peak_gb(uris: Sequence[str], recipes: Sequence[str]) -> dict[str, float]:
    """Peak memory of a process that extracts these videos, and of the largest of its decoders."""
    program = f"""
import json, resource, torch
from benchmarks.extract import whole
from vtr_core.extraction.features import choose
torch.set_num_threads(1)
whole({list(uris)!r}, choose({list(recipes)!r}, {{}}), 2)
peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps(dict(zip(("process", "decoder"), (peak * 1024 / 1e9 for peak in peaks)))))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    peaks: dict[str, float] = json.loads(done.stdout)
    return peaks


def long_film(path: Path, seconds: float, seed: int) -> str:
    """Films one after another, as one file."""
    parts = range(round(seconds / SECONDS))

    def joined() -> Iterator[tuple[float, Any]]:
        for part in parts:
            for time, pixels in frames(film(seed, part)):
                large = pixels.repeat(_SCALE, axis=0).repeat(_SCALE, axis=1)
                for step in range(_TIMES):
                    yield part * SECONDS + time + step / (_TIMES * FRAME_RATE), large

    write_video(str(path), joined(), frame_rate=_TIMES * FRAME_RATE)
    return str(path)


def _now() -> Spent:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Spent(perf_counter(), sum(usage.ru_utime + usage.ru_stime for usage in used))


def _since(begun: Spent) -> Spent:
    now = _now()
    return Spent(now.clock - begun.clock, now.processor - begun.processor)


def measure(flags: Flags) -> dict[str, Any]:
    """The rounds' medians, and memory."""
    torch.set_num_threads(1)
    chosen, cores = choose(flags.recipe, {}), num_usable()
    with tempfile.TemporaryDirectory() as folder:
        if flags.videos is None:
            for number in range(flags.films):
                long_film(Path(folder) / f"{number}.mp4", 30, number)
        uris = [file.uri for file in Inventory(flags.videos or folder).files]
        short, long = (long_film(Path(folder) / f"m{n}.mp4", 30 * n, 0) for n in (1, LONGER))
        return {
            "spent": compare(uris, chosen, cores, flags.repeats, ray=flags.on_ray),
            "memory": {
                "a video of 30 s": peak_gb([short], flags.recipe),
                f"a video of {30 * LONGER} s": peak_gb([long], flags.recipe),
                f"{LONGER} videos of 30 s": peak_gb([short] * LONGER, flags.recipe),
            },
            "videos": len(uris),
            "recipes": flags.recipe,
            "repeats": flags.repeats,
            "cores": cores,
            "processor": processor(),
        }


def markdown(figures: Mapping[str, Any]) -> str:
    """The figures as a page."""
    spent, memory = figures["spent"], figures["memory"]
    rays = ""
    if "ray_s" in spent:
        rays = (
            f"| extraction by Ray Data, on the clock, start of its actors included | {spent['ray_s']:.1f} |\n"
            f"| the same of half of the videos | {spent['ray_half_s']:.1f} |\n"
        )
    held = "\n".join(
        f"| {video} | {peaks['process']:.2f} | {peaks['decoder']:.2f} |" for video, peaks in memory.items()
    )
    by_ray, start = "", ""
    if rays:
        by_ray = f", by Ray Data **{spent['ray_share_of_limit']:.2f}**"
        start = (
            f" By Ray Data {spent['ray_start_s']:.1f} s do not grow with the number of videos; of the rest it reaches "
            f"**{spent['ray_share_of_many']:.2f}**, which is the share of a long extraction."
        )
    return f"""# Extraction beside its limit

{figures["videos"]} videos, {", ".join(figures["recipes"])}, {figures["processor"]}; av \
{figures["versions"]["av"]}, torch {figures["versions"]["torch"]}; medians of {figures["repeats"]} rounds, load \
{spent["load"]:.1f} in the middle of them. `{figures["command"]}`

| | seconds |
|---|---:|
| decoding alone, one thread, processor time | {spent["decoding_s"]:.1f} |
| networks alone, one thread, processor time | {spent["networks_s"]:.1f} |
| extraction in one process with its decoders, on the clock | {spent["extraction_s"]:.1f} |
| the same, processor time | {spent["extraction_processor_s"]:.1f} |
{rays}
The limit is both alone, perfectly overlapped on all cores. Extraction reaches **{spent["share_of_limit"]:.2f}** of it \
on the clock{by_ray}, and spends **{spent["share_of_processor"]:.2f}** of its processor time on nothing \
else.{start} On a machine that does other work the first is of what was left of it: a load of {figures["cores"]} is \
this work alone, and of a busier machine only processor times are to be believed.

| peak memory, GB | process | decoder, its start as a copy of the process included |
|---|---:|---:|
{held}
"""


BENCHMARK = Benchmark(
    "benchmarks.extract",
    Flags,
    measure,
    markdown,
    (
        "av",
        "torch",
    ),
)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
