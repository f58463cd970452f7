"""How fast clips reach a train worker as tensors, beside a raw scan of the same columns and other loaders.

Rows of video 4096 + audio 1024 (float16) + 20 tokens, planned and shuffled, in batches of 4096. In one run, in turns,
each contestant alone in processes of its own, everything in the page cache:

    python -m benchmarks.feeding [--rows 400000] [--rounds 3] [--work FOLDER] [--peers-python .venv-peers/bin/python]
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.feeding.data import NUM_CLIPS, FeedingClips, repeated, write_raw, write_shards
from benchmarks.feeding.memory import PeakMemory
from benchmarks.feeding.ray_data import BEGIN, END
from benchmarks.machine import versions
from benchmarks.report.pages import RESULTS, Benchmark, origin
from vtr_core.data.manifest import Manifest

ROOT = RESULTS.parents[1]
PEERS = ("webdataset", "mosaicml", "lance")
"""The loaders that have an environment of their own, by their names in benchmarks.peers.deliver."""
PACKAGES = ("webdataset", "mosaicml-streaming", "pylance")
RAY = "ray_parquet"
"""Ray Data without this project."""
CORES = 2
"""What every contestant has."""
TIMES_MORE = 8
"""How much larger the larger data set is whose memory is compared."""


@dataclass(frozen=True)
class Flags:
    """How much data, how often, for how long."""

    rows: int = 400_000
    """Clips in the shards, about."""
    raw_videos: int = 1000
    """Videos whose features lie a second each in .npy files, for the per-video loader."""
    rounds: int = 3
    """Rounds in which every contestant has its turn."""
    seconds: float = 10.0
    """What is counted of each turn, after it has got going."""
    memory_rounds: int = 3
    """Rounds in which peak memory is compared."""
    memory_steps: int = 60
    """Steps in which it is looked at, after as many in which it is not."""
    batch_rows: int = 4096
    """Clips of a batch."""
    clips_per_video: int = 32
    """Clips of a video in a batch, where a loader samples them."""
    work: str = str(Path(tempfile.gettempdir()) / "vtr-feeding")
    """Folder for the data sets, about 22 GB, which stay there for the next run."""
    peers_python: str = ".venv-peers/bin/python"
    """The Python that has benchmarks/peers/requirements.txt; without it WebDataset, mosaicml-streaming and Lance are
    left out."""
    out: str = str(RESULTS)
    """Folder for feeding.json and feeding.md."""


@dataclass(frozen=True)
class Data:
    """The data sets: our shards, the same eight times, and the folder of every other format."""

    shards: Path
    larger: Path
    folders: Mapping[str, Path]
    manifest: Manifest


def measure(flags: Flags) -> dict[str, Any]:
    """Make the data, and run the comparison on two cores."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])  # of all processes that it starts, too
    return compare(flags, prepare(flags))


def prepare(flags: Flags) -> Data:
    """The data sets in the work folder, made where they are not there, and written to the disk."""
    videos = flags.rows // NUM_CLIPS
    source = FeedingClips(videos, min(flags.raw_videos, videos))
    folder = Path(flags.work) / f"{videos}-videos"
    folder.mkdir(parents=True, exist_ok=True)
    _say(f"data in {folder}")
    manifest = write_shards(source, folder / "shards")
    repeated(manifest, folder / "larger", TIMES_MORE)
    write_raw(source, folder / "video_files")
    folders = {"video_files": folder / "video_files", RAY: folder / RAY}
    _written(folder, RAY, [sys.executable, "-m", "benchmarks.feeding.ray_parquet", "--action", "write"])
    for peer in PEERS if _peers_python(flags) else ():
        folders[peer] = folder / peer
        _written(folder, peer, [_peers_python(flags), "-m", "benchmarks.peers.deliver", "write", peer])
    os.sync()
    return Data(folder / "shards", folder / "larger", folders, manifest)


def _written(folder: Path, loader: str, command: Sequence[str]) -> None:
    """Runs the command that writes a loader's format from the shards, unless it has been finished."""
    if not (folder / f"{loader}.done").exists():
        shutil.rmtree(folder / loader, ignore_errors=True)
        _run([*command, "--shards", str(folder / "shards"), "--data", str(folder / loader)])
        (folder / f"{loader}.done").touch()


def compare(flags: Flags, data: Data) -> dict[str, Any]:
    """All figures."""
    rounds = [_round(flags, data, number) for number in range(flags.rounds)]
    memory = [_memory_round(flags, data) for _ in range(flags.memory_rounds)]
    peers = _peers_python(flags)
    return {
        "rows": data.manifest.rows,
        "gigabytes": sum(shard.bytes for shard in data.manifest.shards) / 1e9,
        "row_bytes": sum(shard.bytes for shard in data.manifest.shards) / data.manifest.rows,
        "rows_read_per_row": data.manifest.rows / (data.manifest.videos * flags.clips_per_video),
        "batch_rows": flags.batch_rows,
        "seconds": flags.seconds,
        "contestants": {name: [turns[name] for turns in rounds] for name in rounds[0]},
        "memory": {"steps": flags.memory_steps, "times": TIMES_MORE, "rounds": memory},
        "versions": versions("pyarrow", "ray", "torch") | (_peer_versions(peers) if peers else {}),
    }


def _round(flags: Flags, data: Data, number: int) -> dict[str, dict[str, Any]]:
    """Every contestant's turn: its timings (one per worker), and what else it measured."""
    turns = {}
    for name, turn in _turns(flags, data):
        turns[name] = turn()
        rate = sum(timing["rows"] / timing["seconds"] for timing in turns[name]["timings"])
        _say(f"round {number + 1}: {name}: {rate:,.0f} clips/s")
    return turns


def _turns(flags: Flags, data: Data) -> Iterator[tuple[str, Any]]:
    """(name, what to call) of each contestant, in the order of a round."""
    ours = ["--data", str(data.shards), "--rows", str(flags.batch_rows), "--seconds", str(flags.seconds)]
    sampled = [*ours, "--clips-per-video", str(flags.clips_per_video)]
    for way in ("memory_map", "read", "dataset"):
        command = [sys.executable, "-m", "benchmarks.feeding.scan", *ours, "--way", way]
        yield f"scan, {way}", lambda command=command: _timed_alone(command, data.shards)
    for workers in (1, 2):
        yield f"ours, {workers}", lambda workers=workers: _ours(sampled, workers, data.shards)
    direct = [sys.executable, "-m", "benchmarks.feeding.ray_data", *sampled, "--workers", "0"]
    yield "planned", lambda: _timed_alone(direct, data.shards)
    for loader, folder in data.folders.items():
        words = ["--data", str(folder), "--rows", str(flags.batch_rows), "--seconds", str(flags.seconds)]
        if loader == RAY:
            command = [sys.executable, "-m", "benchmarks.feeding.ray_parquet", "--action", "time", *words]
        else:
            python = _peers_python(flags) if loader in PEERS else sys.executable
            words += ["--clips-per-video", str(flags.clips_per_video)]
            command = [python, "-m", "benchmarks.peers.deliver", "time", loader, *words]
        yield loader, lambda command=command, folder=folder: _timed_alone(command, folder)


def _timed_alone(command: Sequence[str], folder: Path) -> dict[str, Any]:
    """A process that prints its timing as its last line."""
    _warm(folder)
    return {"timings": [json.loads(_run(command).strip().splitlines()[-1])]}


def _ours(flags: Sequence[str], workers: int, folder: Path) -> dict[str, Any]:
    _warm(folder)
    with tempfile.TemporaryDirectory() as out:
        _run([sys.executable, "-m", "benchmarks.feeding.ray_data", *flags, "--workers", str(workers), "--out", out])
        per_worker = [json.loads((Path(out) / f"rank-{rank}.json").read_text()) for rank in range(workers)]
    first = {name: value for name, value in per_worker[0].items() if name != "timing"}
    return {"timings": [each["timing"] for each in per_worker], **first}


def _memory_round(flags: Flags, data: Data) -> dict[str, Any]:
    """Peak memory of feeding one worker from the data set and from the larger one."""
    return {name: _peak(flags, folder) for name, folder in (("once", data.shards), ("larger", data.larger))}


def _peak(flags: Flags, folder: Path) -> dict[str, Any]:
    words = ["--data", str(folder), "--rows", str(flags.batch_rows), "--clips-per-video", str(flags.clips_per_video)]
    with tempfile.TemporaryDirectory() as out:
        words += ["--out", out, "--steps", str(flags.memory_steps)]
        process = subprocess.Popen([sys.executable, "-m", "benchmarks.feeding.ray_data", *words], cwd=ROOT)
        with PeakMemory(process.pid, Path(out) / BEGIN, Path(out) / END) as peak:
            if process.wait() != 0:
                raise SystemExit(f"benchmarks.feeding.ray_data ended with {process.returncode}; see above")
    peaks = {"processes": peak.highest.processes, "object_store": peak.highest.object_store, "samples": peak.samples}
    _say(f"memory, {folder.name}: {peak.highest.total / 1e9:.2f} GB, {peak.samples} samples")
    return peaks


def _warm(folder: Path) -> None:
    """Read every file once: what is timed comes from the page cache."""
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            with file.open("rb", buffering=0) as source:
                while source.read(2**24):
                    pass


def _peers_python(flags: Flags) -> str:
    """The Python of the peers' environment; empty where there is none."""
    path = ROOT / flags.peers_python
    return str(path) if path.exists() else ""


def _peer_versions(python: str) -> dict[str, str]:
    script = f"from importlib.metadata import version; print(*map(version, {PACKAGES}))"
    return dict(zip(PACKAGES, _run([python, "-c", script]).split(), strict=True))


def _run(command: Sequence[str]) -> str:
    """What a command prints; its errors go to ours."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}; see above")
    return done.stdout


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


OURS, WITHOUT_RAY = "ours, 1", "planned"
TITLES = {
    "scan, memory_map": "raw pyarrow scan, memory-mapped row groups, two threads",
    "scan, read": "raw pyarrow scan, row groups read, two threads",
    "scan, dataset": "raw pyarrow scan, `pyarrow.dataset`, its defaults",
    OURS: "**ours**: Ray Data to one train worker",
    "ours, 2": "ours: Ray Data to two train workers",
    WITHOUT_RAY: "ours: without Ray, as `scaling.workers 0` reads",
    "video_files": "per-video `.npy` in a torch DataLoader, two workers",
    "webdataset": "WebDataset, two workers",
    "mosaicml": "mosaicml-streaming, two workers",
    "ray_parquet": "Ray Data's own `read_parquet` and `iter_torch_batches`, in file order",
    "lance": "Lance, scanned in file order",
}
GOALS = (
    (OURS, "scan, memory_map", 0.5),
    (OURS, "scan, read", 0.5),
    (OURS, "scan, dataset", 0.7),
    (WITHOUT_RAY, "scan, dataset", 0.8),
    (OURS, "video_files", 10.0),
    (OURS, "webdataset", 2.0),
    (OURS, "mosaicml", 1.5),
)
"""(ours, another contestant, at least so many times its rate)."""
MAX_MEMORY_RATIO, MAX_FIRST_BATCH_S = 1.05, 3.0
LEAST_ROWS = 400_000
"""Clips from which the goals are judged: fewer lie in the system's cache of files, and are read in a moment."""


def rates(rounds: Sequence[Mapping[str, Any]]) -> list[float]:
    """Clips per second in every round, of all workers together."""
    return [sum(timing["rows"] / timing["seconds"] for timing in turn["timings"]) for turn in rounds]


def ratios(figures: Mapping[str, Any], name: str, other: str) -> list[float]:
    """The rate of a contestant to that of another, in each round."""
    contestants = figures["contestants"]
    return [a / b for a, b in zip(rates(contestants[name]), rates(contestants[other]), strict=True)]


def memory_ratios(figures: Mapping[str, Any]) -> list[float]:
    """Peak memory with the larger data set to that with the data set, in each round."""
    return [_total(turn["larger"]) / _total(turn["once"]) for turn in figures["memory"]["rounds"]]


def first_batch_s(rounds: Sequence[Mapping[str, Any]]) -> float:
    """Seconds to the first batch: the median over rounds of the slowest worker."""
    return median(max(timing["first_batch_s"] for timing in turn["timings"]) for turn in rounds)


def goals(figures: Mapping[str, Any]) -> list[tuple[str, float, float, bool]]:
    """(what, goal, measured, whether reached); a contestant that did not run is left out."""
    judged = []
    for name, other, least in GOALS:
        if other in figures["contestants"]:
            ratio, mode = median(ratios(figures, name, other)), " without Ray" if name == WITHOUT_RAY else ""
            judged.append((f"clips/s{mode}, to {TITLES[other]}, at least", least, ratio, ratio >= least))
    memory, first = median(memory_ratios(figures)), first_batch_s(figures["contestants"][OURS])
    times = figures["memory"]["times"]
    judged.append(
        (f"peak memory, {times} × the data to 1 ×, at most", MAX_MEMORY_RATIO, memory, memory <= MAX_MEMORY_RATIO)
    )
    judged.append(("first batch, s, at most", MAX_FIRST_BATCH_S, first, first <= MAX_FIRST_BATCH_S))
    return judged


def markdown(figures: Mapping[str, Any]) -> str:
    """The page."""
    parts = (_contestants, _goals, _profile, _memory, _footer)
    return "\n".join(line for part in parts for line in part(figures))


def _contestants(figures: Mapping[str, Any]) -> list[str]:
    rows = []
    for name, rounds in figures["contestants"].items():
        speeds = rates(rounds)
        gigabytes = median(speeds) * figures["row_bytes"] / 1e9
        rows.append(
            f"| {TITLES[name]} | {median(speeds):,.0f} | {min(speeds):,.0f} – {max(speeds):,.0f} | {gigabytes:.2f} "
            f"| {median(ratios(figures, name, 'scan, memory_map')):.3f} | {first_batch_s(rounds):.2f} |"
        )
    return [
        "# Feeding a train worker",
        "",
        f"{figures['rows']:,} clips of video 4096 + audio 1024 float16 + 20 tokens, {figures['gigabytes']:.2f} GB of",
        f"shards; batches of {figures['batch_rows']} as torch tensors; {len(rates(next(iter(_all(figures)))))} rounds",
        f"of {figures['seconds']:g} s each.",
        "",
        "| loader | clips/s | lowest – highest | GB/s | to the scan | first batch, s |",
        "|---|---:|---:|---:|---:|---:|",
        *rows,
        "",
    ]


def _goals(figures: Mapping[str, Any]) -> list[str]:
    judged = figures["rows"] >= LEAST_ROWS
    rows = [
        f"| {subject} | {goal:g} | {measured:.3f} | {('yes' if met else '**no**') if judged else 'not judged'} |"
        for subject, goal, measured, met in goals(figures)
    ]
    return ["| ours | goal | measured | reached |", "|---|---:|---:|---|", *rows, ""]


def _profile(figures: Mapping[str, Any]) -> list[str]:
    rounds = figures["contestants"][OURS]
    names = rounds[0]["profile"]
    parts = {name: median(turn["profile"][name] for turn in rounds) for name in names}
    per_batch = figures["batch_rows"] / median(rates(rounds))
    scan = figures["batch_rows"] / median(rates(figures["contestants"]["scan, memory_map"]))
    rows = [f"| {name} | {1000 * seconds:.1f} | {seconds / per_batch:.2f} |" for name, seconds in parts.items()]
    wait = [(turn["data_wait"]["share"], turn["data_wait"]["step_seconds"]) for turn in rounds]
    share, step = median(turn for turn, _ in wait), wait[0][1]
    return [
        f"Where a batch's {1000 * per_batch:.1f} ms go (the scan takes {1000 * scan:.1f} ms for as many rows), each",
        "part alone in one process; assemble and put run in Ray Data's tasks, get and tensors in the train worker:",
        "",
        "| part | ms | of the time between two batches |",
        "|---|---:|---:|",
        *rows,
        f"| all, one after another | {1000 * sum(parts.values()):.1f} | {sum(parts.values()) / per_batch:.2f} |",
        "",
        f"With steps of {step:g} s, {100 * share:.1f} % of the time is waiting for data (`train/data_wait`).",
        "",
    ]


def _memory(figures: Mapping[str, Any]) -> list[str]:
    memory = figures["memory"]
    rows = [
        f"| {number} | {_gb(turn['once'])} | {_gb(turn['larger'])} | {ratio:.3f} |"
        for number, (turn, ratio) in enumerate(zip(memory["rounds"], memory_ratios(figures), strict=True), 1)
    ]
    return [
        f"Peak memory in {memory['steps']} steps after as many, GB: processes + object store.",
        "",
        f"| round | 1 × | {memory['times']} × | ratio |",
        "|---:|---:|---:|---:|",
        *rows,
        "",
    ]


def _footer(figures: Mapping[str, Any]) -> list[str]:
    return [
        "Ratios are medians over the rounds of the ratio within a round. Every loader runs alone, in processes of its",
        "own; what it reads was read just before, so it lies in the page cache; batches that were made before the",
        "clock starts do not count. Ours runs a Ray with one CPU for each train worker and two for reading, more than",
        "this benchmark's two cores, and counts at the train worker, after object store and copies, from its 400th",
        "batch on: by then Ray's object store has been written to once, whose fresh pages cost several times a copy.",
        "A new execution of Ray Data begins before the last one ends, after 32, 288, 2,336 batches and then after",
        "every 4,096, outside the time that counts. Ours reads",
        f"{figures['rows_read_per_row']:.2f} rows for each that it delivers, since a batch samples",
        "the clips of each video; the scan counts every row, verifies no checksum, and lets a batch of row groups go",
        "once it has it. WebDataset and mosaicml-streaming hold each clip as one field of bytes, their fastest layout;",
        "the per-video loader's captions are tokenised already. Ray Data's own way has Ray's number of CPUs, too, and",
        "files that Ray Data wrote, uncompressed; it and Lance shuffle nothing. Memory: every process of the tree by",
        "its share of pages (Pss), the object store by the blocks of its file; the larger data set is made of hard",
        "links to the same files, with all its rows and row groups in its manifest.",
        "",
        origin(figures),
        "",
    ]


def _all(figures: Mapping[str, Any]) -> Sequence[Sequence[Mapping[str, Any]]]:
    return list(figures["contestants"].values())


def _total(peaks: Mapping[str, Any]) -> int:
    return peaks["processes"] + peaks["object_store"]


def _gb(peaks: Mapping[str, Any]) -> str:
    return f"{peaks['processes'] / 1e9:.2f} + {peaks['object_store'] / 1e9:.2f}"


BENCHMARK = Benchmark(
    "benchmarks.feeding",
    Flags,
    measure,
    markdown,
    (
        "pyarrow",
        "ray",
        "torch",
    ),
)

if __name__ == "__main__":
    BENCHMARK.main(sys.argv[1:])
