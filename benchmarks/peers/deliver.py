"""One loader alone in this process: write its format, time what it delivers and print that as JSON, or keep one pass.

    python -m benchmarks.peers.deliver write webdataset --shards FOLDER --data FOLDER
    python -m benchmarks.peers.deliver time mosaicml --data FOLDER --seconds 10
    python -m benchmarks.peers.deliver keep mosaicml --data FOLDER --out FILE.npz

It needs none of the project's packages, so the peers have an environment of their own (requirements.txt).
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, assert_never, get_args

import numpy as np
import torch

from benchmarks.peers import lance_loader, mosaicml_loader, video_files, webdataset_loader
from benchmarks.peers.records import Batch, record_type
from benchmarks.peers.timing import timed

DIMS, MAX_WORDS = {"video": 4096, "audio": 1024}, 20
Loader = Literal["webdataset", "mosaicml", "lance", "video_files"]


def main() -> None:
    """Parse the command line and do it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.deliver", description=__doc__)
    parser.add_argument("action", choices=["write", "time", "keep"])
    parser.add_argument("loader", choices=get_args(Loader))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--shards", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--clips-per-video", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--warm-up", type=int, default=8)
    given = parser.parse_args()
    if given.action == "write":
        write(given.loader, sorted(given.shards.glob("*.parquet")), given.data)
        return
    torch.set_num_threads(1)
    epochs = 1 if given.action == "keep" else None
    made = batches(given.loader, given.data, given.rows, given.clips_per_video, given.workers, epochs)
    if given.action == "keep":
        keep(made, given.out)
        return
    print(json.dumps(asdict(timed(made, lambda batch: len(batch["tokens"]), given.seconds, given.warm_up))))


def write(loader: Loader, shards: list[Path], out: Path) -> None:
    """The rows of our shards in the loader's format."""
    kind = record_type(DIMS, MAX_WORDS)
    match loader:
        case "webdataset":
            webdataset_loader.write(shards, out, kind)
        case "mosaicml":
            mosaicml_loader.write(shards, out, kind)
        case "lance":
            lance_loader.write(shards, out, kind)
        case "video_files":
            raise SystemExit("video_files: its files are raw features, which benchmarks.feeding.data writes")
        case _:
            assert_never(loader)


def keep(made: Iterator[Batch], out: Path) -> None:
    """All rows of some batches as arrays in one file, in the order in which they came."""
    found = list(made)
    arrays: dict[str, Any] = {name: np.concatenate([batch[name].numpy() for batch in found]) for name in found[0]}
    np.savez(out, **arrays)


def batches(
    loader: Loader, data: Path, rows: int, clips_per_video: int, workers: int, epochs: int | None = None
) -> Iterator[Batch]:
    """Batches of `epochs` passes, without end by default."""
    kind = record_type(DIMS, MAX_WORDS)
    match loader:
        case "webdataset":
            return webdataset_loader.batches(data, kind, rows, workers, epochs)
        case "mosaicml":
            return mosaicml_loader.batches(data, kind, rows, workers, epochs)
        case "lance":
            return lance_loader.batches(data, kind, rows, epochs)
        case "video_files":
            return video_files.batches(data, clips_per_video, rows, workers, epochs)
        case _:
            assert_never(loader)


if __name__ == "__main__":
    main()
