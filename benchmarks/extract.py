"""Extraction against its limit: decoding alone and the networks alone, of the same videos, perfectly overlapped.

python -m benchmarks.extract --videos FOLDER                 videos of one's own
python -m benchmarks.extract --films 20 --repeats 1          a look at it
Writes extract.json and extract.md. Peak memory is of the process and its decoders, with the videos once and in files
ten times as long.
"""

import json
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

from benchmarks.machine import processor, versions
from pipelines.arguments import parse
from vtr_core.data.sources.videos.inventory import Inventory
from vtr_core.data.worlds.shapes import FRAME_RATE, SECONDS, film, frames
from vtr_core.extraction.chosen import Chosen, choose, streams
from vtr_core.extraction.in_process import extract_here
from vtr_core.extraction.networks import Networks
from vtr_core.storage import locate
from vtr_core.video.decoding import decode
from vtr_core.video.encoding import write_video
from vtr_core.video.process import Limits
from vtr_core.video.streams import Chunk

LONGER = 10


@dataclass(frozen=True)
class Flags:
    """What is extracted."""

    videos: str | None = None
    """A folder of video files (default: rendered films of coloured shapes)."""
    films: int = 60
    """Rendered films, of 30 seconds each."""
    recipe: tuple[str, ...] = ("imagenet-lite", "log-mel")
    """Recipes whose weights are here."""
    repeats: int = 3
    """Rounds that are timed; medians are reported."""
    out: str = str(Path(__file__).parent / "results")
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


def compare(uris: Sequence[str], chosen: Sequence[Chosen], cores: int, repeats: int) -> dict[str, Any]:
    """Medians over rounds, and the shares of the limit on the clock and in processor time."""
    rounds = []
    for _ in range(repeats):
        decoding, chunks = bare_decoding(uris, chosen)
        rounds.append((decoding, bare_networks(chunks, chosen), whole(uris, chosen, cores)))
        del chunks
    limits = [decoding.processor + networks.processor for decoding, networks, _ in rounds]
    return {
        "decoding_s": median(decoding.processor for decoding, _, _ in rounds),
        "networks_s": median(networks.processor for _, networks, _ in rounds),
        "extraction_s": median(all_.clock for _, _, all_ in rounds),
        "extraction_processor_s": median(all_.processor for _, _, all_ in rounds),
        "share_of_limit": median(
            limit / cores / all_.clock for limit, (_, _, all_) in zip(limits, rounds, strict=True)
        ),
        "share_of_processor": median(limit / r[2].processor for limit, r in zip(limits, rounds, strict=True)),
    }


def peak_gb(uris: Sequence[str], recipes: Sequence[str]) -> dict[str, float]:
    """Peak memory of a process that extracts these videos, and of the largest of its decoders."""
    program = f"""
import json, resource, torch
from benchmarks.extract import whole
from vtr_core.extraction.chosen import choose
torch.set_num_threads(1)
whole({list(uris)!r}, choose({list(recipes)!r}, {{}}), 1)
peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps(dict(zip(("process", "decoder"), (peak * 1024 / 1e9 for peak in peaks)))))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def long_film(path: Path, seconds: float, seed: int) -> str:
    """Films one after another, as one file."""
    parts = range(round(seconds / SECONDS))

    def joined() -> Iterator[tuple[float, Any]]:
        for part in parts:
            for time, pixels in frames(film(seed, part)):
                yield part * SECONDS + time, pixels.repeat(3, axis=0).repeat(3, axis=1)

    write_video(str(path), joined(), frame_rate=FRAME_RATE)
    return str(path)


def _now() -> Spent:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Spent(perf_counter(), sum(one.ru_utime + one.ru_stime for one in used))


def _since(begun: Spent) -> Spent:
    now = _now()
    return Spent(now.clock - begun.clock, now.processor - begun.processor)


def markdown(figures: Mapping[str, Any]) -> str:
    """The figures as a page."""
    found, memory = figures["found"], figures["memory"]
    return f"""# Extraction beside its limit

{figures["videos"]} videos, {", ".join(figures["recipes"])}, {figures["processor"]}; av {figures["versions"]["av"]}, \
torch {figures["versions"]["torch"]}. `{figures["command"]}`

| | seconds |
|---|---:|
| decoding alone, one thread, processor time | {found["decoding_s"]:.1f} |
| networks alone, one thread, processor time | {found["networks_s"]:.1f} |
| extraction, on the clock ({figures["cores"]} cores) | {found["extraction_s"]:.1f} |
| extraction, processor time with its decoders | {found["extraction_processor_s"]:.1f} |

The limit is both alone, perfectly overlapped on all cores. Extraction reaches **{found["share_of_limit"]:.2f}** of it \
on the clock, and spends {found["share_of_processor"]:.2f} of its processor time on nothing else. On a machine that \
does other work the first is of what was left of it.

| peak memory, GB | process | decoder |
|---|---:|---:|
| a video of 30 s | {memory["short"]["process"]:.2f} | {memory["short"]["decoder"]:.2f} |
| a video of {30 * LONGER} s | {memory["long"]["process"]:.2f} | {memory["long"]["decoder"]:.2f} |

Other extractors were not compared.
"""


def main(argv: Sequence[str]) -> None:
    """Run the comparison, print it and write it."""
    flags = parse(Flags, argv, "python -m benchmarks.extract")
    torch.set_num_threads(1)
    chosen, cores = choose(flags.recipe, {}), len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        given = flags.videos or folder
        if flags.videos is None:
            for number in range(flags.films):
                long_film(Path(folder) / f"{number}.mp4", 30, number)
        uris = [file.uri for file in Inventory(given).files]
        short, long = (long_film(Path(folder) / f"m{n}.mp4", 30 * n, 0) for n in (1, LONGER))
        figures = {
            "found": compare(uris, chosen, cores, flags.repeats),
            "memory": {"short": peak_gb([short], flags.recipe), "long": peak_gb([long], flags.recipe)},
            "videos": len(uris),
            "recipes": flags.recipe,
            "cores": cores,
            "processor": processor(),
            "versions": versions("av", "torch"),
            "command": " ".join(["python -m benchmarks.extract", *argv]),
        }
    out = Path(flags.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "extract.json").write_text(json.dumps(figures, indent=1) + "\n")
    (out / "extract.md").write_text(markdown(figures))
    print(markdown(figures))


if __name__ == "__main__":
    main(sys.argv[1:])
