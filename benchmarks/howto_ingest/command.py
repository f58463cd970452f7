"""An ingest at HowTo100M's size: time, and memory of the command, on made-up narration with the real one's lengths.

    python -m benchmarks.howto_ingest [--ingested 3000 12000] [--counted 30000 120000] …

A video has 113 captions of about four seconds and six words, as HowTo100M has on average (136 M of 1.2 M videos); what
videos say repeats after 2,000 of them. Five stages, each in a process of its own, whose peak memory is the kernel's:

    parsed     the caption file as one value, as it was done before, for comparison
    listed     every video's id and place in the caption file
    counted    listed, then every caption's words in Ray's tasks, added in the command
    ingested   the whole command, with features of 8 values that all videos share; its tasks' memory is not in it
    planned    a manifest of so many videos with 113 clips each: written, loaded, the first batch by Ray Data, and what
               all tasks of an epoch are told. Its shards are one file under many names.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from pipelines.arguments import parse

RESULTS = Path(__file__).parent.parent / "results"
CAPTIONS, SECONDS, WORDS, BODIES = 113, 4.0, 6, 2000
VALUES, VIDEOS_PER_SHARD = 8, 256
DRAWN_WORDS = 300_000
FULL = 1_200_000


@dataclass(frozen=True)
class Flags:
    """How many videos each stage has; 0 leaves it out."""

    parsed: tuple[int, ...] = (3000, 12_000)
    """For comparison; the whole would need tens of GB."""
    listed: tuple[int, ...] = (300_000, FULL)
    """The last of them writes a file of 7 GB."""
    counted: tuple[int, ...] = (30_000, 120_000)
    """A fortieth and a tenth."""
    ingested: tuple[int, ...] = (3000, 6000, 12_000)
    """Up to a hundredth."""
    planned: tuple[int, ...] = (120_000, FULL)
    """The last of them are 136 M clips."""
    work: str = tempfile.gettempdir()
    """Folder on a disk with room, in which what is made up has a folder of its own while it is needed."""
    out: str = str(RESULTS)
    """Folder for howto_ingest.json and howto_ingest.md."""


def main(argv: Sequence[str]) -> None:
    """Measure, print and write; `--stage NAME N FOLDER` is one measurement, in its own process."""
    if argv[:1] == ["--stage"]:
        print(json.dumps(_measured(argv[1], int(argv[2]), Path(argv[3]))))
        return
    flags = parse(Flags, argv, "python -m benchmarks.howto_ingest")
    out = page_folder(flags.out)
    Path(flags.work).mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory(dir=flags.work) as work:
        for stage in STAGES:
            for videos in filter(None, asdict(flags)[stage]):
                rows.append(_in_its_own_process(stage, videos, Path(work)))
                print(json.dumps(rows[-1]), flush=True)
    figures = {
        "rows": rows,
        "device": processor(),
        "versions": versions("ray", "pyarrow", "numpy"),
        "command": " ".join(["python -m benchmarks.howto_ingest", *argv]),
    }
    write_page(out, "howto_ingest", figures, markdown(figures))


def _in_its_own_process(stage: str, videos: int, work: Path) -> dict[str, Any]:
    folder = work / f"{stage}-{videos}"
    folder.mkdir()
    if stage != "planned":
        write_captions(folder / "captions.json", videos)
    command = [sys.executable, "-m", "benchmarks.howto_ingest", "--stage", stage, str(videos), str(folder)]
    load = os.getloadavg()[0]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    shutil.rmtree(folder)
    return {**json.loads(done.stdout.splitlines()[-1]), "load": round(load, 1)}


def _measured(stage: str, videos: int, folder: Path) -> dict[str, Any]:
    began, own = time.perf_counter(), time.process_time()
    more = STAGES[stage](videos, folder)
    return {
        "stage": stage,
        "videos": videos,
        "seconds": time.perf_counter() - began,
        "own_cpu_s": time.process_time() - own,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        **more,
    }


def write_captions(file: Path, videos: int) -> None:
    """The caption file, in the form of HowTo100M's: {id: {"start": …, "end": …, "text": …}}."""
    said = list(_bodies())
    with file.open("w") as sink:
        for video in range(videos):
            sink.write(f'{"," if video else "{"} "{video_id(video)}": {said[video % BODIES]}')
        sink.write("}")


def _bodies() -> Iterator[str]:
    generator = np.random.default_rng(0)
    for _ in range(BODIES):
        words = np.minimum(generator.zipf(1.3, (CAPTIONS, WORDS)), DRAWN_WORDS)
        start = np.round(np.cumsum(generator.uniform(0.5, 2 * SECONDS - 0.5, CAPTIONS)), 2)
        text = [" ".join(f"w{word:04d}" for word in row) for row in words]
        yield json.dumps({"start": start.tolist(), "end": np.round(start + SECONDS, 2).tolist(), "text": text})


def video_id(video: int) -> str:
    """Of eleven characters, as YouTube's."""
    return f"v{video:010d}"


def _parsed(videos: int, folder: Path) -> dict[str, Any]:
    from vtr_core import storage
    from vtr_core.storage import locate

    assert len(storage.read_json(locate(folder / "captions.json"))) == videos
    return {}


def _listed(videos: int, folder: Path) -> dict[str, Any]:
    from vtr_core.data.sources.instructional.howto100m import HowTo100M
    from vtr_core.data.sources.source import Drops

    file = folder / "captions.json"
    source = HowTo100M(features_2d=str(folder), annotations=str(file))
    assert len(source.videos(Drops())) == videos
    return {"file_mb": file.stat().st_size / 2**20}


def _counted(videos: int, folder: Path) -> dict[str, Any]:
    from pipelines.ingest.ingest_options import IngestFlags, count_on_ray
    from vtr_core.data.sources.instructional.howto100m import HowTo100M
    from vtr_core.data.sources.source import Drops

    source = HowTo100M(features_2d=str(folder), annotations=str(folder / "captions.json"))
    counts: Counter[str] = count_on_ray(IngestFlags(str(folder / "out")))(source, source.videos(Drops()), "words", None)
    assert counts.total() == videos * CAPTIONS * WORDS
    return {"words": len(counts)}


def _ingested(videos: int, folder: Path) -> dict[str, Any]:
    from pipelines.cli import run
    from vtr_core.data.manifest import Manifest

    (folder / "2d").mkdir()
    rows = np.random.default_rng(0).random((int(2 * SECONDS * CAPTIONS), VALUES)).astype(np.float16)
    np.save(folder / "2d" / f"{video_id(0)}.npy", rows)
    for video in range(1, videos):
        os.link(folder / "2d" / f"{video_id(0)}.npy", folder / "2d" / f"{video_id(video)}.npy")
    given = ["--features-2d", str(folder / "2d"), "--annotations", str(folder / "captions.json")]
    run("ingest", ["howto100m", *given, "--out", str(folder / "out")])
    manifest = Manifest.load(str(folder / "out"))
    assert manifest.videos == videos
    return {"clips": manifest.rows}


def _planned(videos: int, folder: Path) -> dict[str, Any]:
    """Seconds of each part, in order."""
    from benchmarks.howto_ingest.manifest import plan_an_epoch

    return plan_an_epoch(folder, videos, VIDEOS_PER_SHARD, CAPTIONS, VALUES)


STAGES: dict[str, Callable[[int, Path], dict[str, Any]]] = {
    "parsed": _parsed,
    "listed": _listed,
    "counted": _counted,
    "ingested": _ingested,
    "planned": _planned,
}


def markdown(figures: dict[str, Any]) -> str:
    """The page."""
    rows = figures["rows"]
    lines = [
        "# An ingest at HowTo100M's size",
        "",
        f"Made-up narration with the lengths of HowTo100M's: {CAPTIONS} captions a video, {WORDS} words a caption.",
        "1.2 M videos are the whole. Memory is the peak of the command's own process, in which Ray's tasks are not.",
        "Time depends on how busy the machine was (its load as the stage began), the command's processor time less.",
        "",
        "| stage | videos | captions | seconds | own processor seconds | peak, MB | MB per 100,000 videos | load |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        *(_line(row, rows) for row in rows),
        "",
        "`MB per 100,000 videos`: what the stage's peak grows by from its smallest size. `parsed` is the caption file",
        "as one value, as the ingest read it before; the others are what it does now.",
        "",
        *_planning([row for row in rows if row["stage"] == "planned"]),
        *([figures["remark"], ""] if "remark" in figures else []),
        f"{figures['device']}; " + ", ".join(f"{name} {value}" for name, value in figures["versions"].items()),
        f"`{figures['command']}`.",
    ]
    return "\n".join(lines) + "\n"


def _line(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> str:
    least = next(other for other in rows if other["stage"] == row["stage"])
    more = row["videos"] - least["videos"]
    growth = f"{1e5 * (row['peak_mb'] - least['peak_mb']) / more:,.0f}" if more else ""
    return (
        f"| {row['stage']} | {row['videos']:,} | {row['videos'] * CAPTIONS:,} | {row['seconds']:.1f} | "
        f"{row['own_cpu_s']:.1f} | {row['peak_mb']:,.0f} | {growth} | {row['load']} |"
    )


def _planning(rows: Sequence[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    parts = list(rows[0]["parts"])
    return [
        f"Seconds of planning with the batches of capsule-howto, {rows[0]['batch']}:",
        "",
        "| videos | clips | " + " | ".join(parts) + " |",
        "|---:|---:|" + "---:|" * len(parts),
        *(
            f"| {row['videos']:,} | {row['clips']:,} | " + " | ".join(f"{row['parts'][p]:.2f}" for p in parts) + " |"
            for row in rows
        ),
        "",
    ]
