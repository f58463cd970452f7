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
from typing import Any

from benchmarks.feeding.data import NUM_CLIPS, FeedingClips, repeated, write_raw, write_shards
from benchmarks.feeding.memory import PeakMemory
from benchmarks.feeding.page import markdown
from benchmarks.feeding.ray_data import BEGIN, END
from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from pipelines.arguments import parse
from vtr_core.data.manifest import Manifest

ROOT = Path(__file__).parent.parent.parent
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
    out: str = str(Path(__file__).parent.parent / "results")
    """Folder for feeding.json and feeding.md."""


@dataclass(frozen=True)
class Data:
    """The data sets: our shards, the same eight times, and the folder of every other format."""

    shards: Path
    larger: Path
    others: Mapping[str, Path]
    manifest: Manifest


def main(argv: Sequence[str]) -> None:
    """Make the data, run the comparison, print it and write it."""
    flags = parse(Flags, argv, "python -m benchmarks.feeding")
    out = page_folder(flags.out)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])  # of all processes that it starts, too
    data = prepare(flags)
    figures = compare(flags, data, argv)
    page = markdown(figures)
    write_page(out, "feeding", figures, page)
    print(page)


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
    others = {"video_files": folder / "video_files", RAY: folder / RAY}
    _written(folder, RAY, [sys.executable, "-m", "benchmarks.feeding.ray_parquet", "--action", "write"])
    for peer in PEERS if _peers_python(flags) else ():
        others[peer] = folder / peer
        _written(folder, peer, [_peers_python(flags), "-m", "benchmarks.peers.deliver", "write", peer])
    os.sync()
    return Data(folder / "shards", folder / "larger", others, manifest)


def _written(folder: Path, loader: str, command: Sequence[str]) -> None:
    """Runs the command that writes a loader's format from the shards, unless it has been finished."""
    if not (folder / f"{loader}.done").exists():
        shutil.rmtree(folder / loader, ignore_errors=True)
        _run([*command, "--shards", str(folder / "shards"), "--data", str(folder / loader)])
        (folder / f"{loader}.done").touch()


def compare(flags: Flags, data: Data, argv: Sequence[str]) -> dict[str, Any]:
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
        "contestants": {name: [found[name] for found in rounds] for name in rounds[0]},
        "memory": {"steps": flags.memory_steps, "times": TIMES_MORE, "rounds": memory},
        "device": processor(),
        "versions": versions("pyarrow", "ray", "torch") | (_peer_versions(peers) if peers else {}),
        "command": " ".join(["python -m benchmarks.feeding", *argv]),
    }


def _round(flags: Flags, data: Data, number: int) -> dict[str, dict[str, Any]]:
    """Every contestant's turn: its timings (one per worker), and what else it measured."""
    found = {}
    for name, turn in _turns(flags, data):
        found[name] = turn()
        rate = sum(timing["rows"] / timing["seconds"] for timing in found[name]["timings"])
        _say(f"round {number + 1}: {name}: {rate:,.0f} clips/s")
    return found


def _turns(flags: Flags, data: Data) -> Iterator[tuple[str, Any]]:
    """(name, what to call) of each contestant, in the order of a round."""
    ours = ["--data", str(data.shards), "--rows", str(flags.batch_rows), "--seconds", str(flags.seconds)]
    sampled = [*ours, "--clips-per-video", str(flags.clips_per_video)]
    for way in ("memory_map", "read", "dataset"):
        command = [sys.executable, "-m", "benchmarks.feeding.scan", *ours, "--way", way]
        yield f"scan, {way}", lambda command=command: _timed_alone(command, data.shards)
    for workers in (1, 2):
        yield f"ours, {workers}", lambda workers=workers: _ours(sampled, workers, data.shards)
    yield "planned", lambda: _timed_alone([sys.executable, "-m", "benchmarks.feeding.planned", *sampled], data.shards)
    for loader, folder in data.others.items():
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
        found = [json.loads((Path(out) / f"rank-{rank}.json").read_text()) for rank in range(workers)]
    first = {name: value for name, value in found[0].items() if name != "timing"}
    return {"timings": [each["timing"] for each in found], **first}


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
    found = {"processes": peak.highest.processes, "object_store": peak.highest.object_store, "samples": peak.samples}
    _say(f"memory, {folder.name}: {peak.highest.total / 1e9:.2f} GB, {peak.samples} samples")
    return found


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
