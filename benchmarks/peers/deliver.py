"""One loader alone in this process: write its format, time what it delivers and print that as JSON, or keep one pass.

    python -m benchmarks.peers.deliver write webdataset --shards FOLDER --data FOLDER
    python -m benchmarks.peers.deliver time mosaicml --data FOLDER --seconds 10
    python -m benchmarks.peers.deliver keep mosaicml --data FOLDER --out FILE.npz

It needs none of the project's packages, so the peers have an environment of their own (requirements.txt).
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, TypeVar, assert_never, get_args

import numpy as np
import torch
from torch import Tensor, library
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

Batch = dict[str, Tensor]
"""What every loader delivers: video and audio float16 (rows, dim), tokens int64 (rows, words), keys and presence."""

FILE = "row"
"""The one field of a sample."""


def record_type(dims: dict[str, int], max_words: int) -> np.dtype:
    """A row of the shards' training columns, without padding; features lie side by side in the order of `dims`."""
    features = [(name, np.float16, (dim,)) for name, dim in dims.items()]
    presence = [(f"has_{name}", np.bool_) for name in dims]
    keys = [(name, np.int64) for name in ("clip_key", "video_key", "caption_key")]
    return np.dtype([*features, ("tokens", np.int32, (max_words,)), *keys, *presence])


def records(shards: Sequence[Path], kind: np.dtype) -> Iterator[np.ndarray]:
    """The rows of each row group of our Parquet shards, in file order."""
    import pyarrow.parquet as pq

    for shard in shards:
        source = pq.ParquetFile(shard)
        for group in range(source.num_row_groups):
            table = source.read_row_group(group, list(kind.names or ()))
            rows = np.empty(table.num_rows, kind)
            for name in kind.names or ():
                rows[name] = values(table.column(name).combine_chunks(), kind[name])
            yield rows


def values(column, kind: np.dtype) -> np.ndarray:  # type: ignore[no-untyped-def]  # pyarrow is imported late
    """An Arrow array's values, in place; a fixed-size binary one's are vectors."""
    if kind.subdtype is None:
        return column.to_numpy(zero_copy_only=False)
    item, shape = kind.subdtype
    whole = np.frombuffer(column.buffers()[1], item).reshape(-1, *shape)
    return whole[column.offset : column.offset + len(column)]


def batch(samples: Sequence[bytes], kind: np.dtype) -> Batch:
    """The samples' records as tensors of their own memory."""
    rows = np.frombuffer(b"".join(samples), kind)
    columns = {name: np.ascontiguousarray(rows[name]) for name in kind.names or ()}
    columns["tokens"] = columns["tokens"].astype(np.int64)
    return {name: torch.from_numpy(column) for name, column in columns.items()}


T = TypeVar("T")


def _passes(epochs: int | None) -> Iterator[int]:
    """As many passes as are asked for; None: without end."""
    return count() if epochs is None else iter(range(epochs))


@dataclass(frozen=True)
class Timing:
    """Rows delivered in so many seconds, and the seconds before the first batch was there."""

    rows: int
    steps: int
    seconds: float
    first_batch_s: float

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / self.seconds


def timed(batches: Iterator[T], rows_of: Callable[[T], int], seconds: float, warm_up: int) -> Timing:
    """Take `warm_up` batches, then count what comes in about `seconds`, at least one batch.

    The clock starts and stops at the arrival of a batch. The warm-up empties what was made ahead while the consumer was
    not yet there, so what counts is what the loader makes in that time.
    """
    began = perf_counter()
    for arrived in range(max(warm_up, 1)):
        next(batches)
        if arrived == 0:
            first = perf_counter() - began
    rows, steps, start = 0, 0, perf_counter()
    while (elapsed := perf_counter() - start) < seconds or not steps:
        rows += rows_of(next(batches))
        steps += 1
    elapsed = perf_counter() - start
    return Timing(rows, steps, elapsed, first)


def _write_lance(shards: Sequence[Path], out: Path, kind: np.dtype) -> None:
    """One data set of all rows, in file order."""
    import lance
    import pyarrow.parquet as pq

    mode = "create"
    for shard in shards:
        lance.write_dataset(pq.read_table(shard, columns=list(kind.names or ())), str(out), mode=mode)
        mode = "append"


def _lance_batches(folder: Path, kind: np.dtype, rows: int, epochs: int | None) -> Iterator[Batch]:
    """Batches of `epochs` passes in file order, without end by default; a scan's last batch is smaller."""
    import lance

    dataset = lance.dataset(str(folder))
    for _ in _passes(epochs):
        for read in dataset.to_batches(columns=list(kind.names or ()), batch_size=rows):
            columns = {name: values(read.column(name), kind[name]) for name in kind.names or ()}
            columns["tokens"] = columns["tokens"].astype(np.int64)
            yield {name: _tensor(column) for name, column in columns.items()}


def _tensor(column: np.ndarray) -> torch.Tensor:
    """A tensor on the memory of Lance's batch where its values are aligned."""
    return torch.from_numpy(column if column.flags.aligned and column.flags.writeable else column.copy())


def _write_mosaicml(shards: Sequence[Path], out: Path, kind: np.dtype) -> None:
    """One column of bytes; shards of the writer's default size."""
    with _streaming().MDSWriter(out=str(out), columns={FILE: "bytes"}) as writer:
        for rows in records(shards, kind):
            for row in rows:
                writer.write({FILE: row.tobytes()})


def _mosaicml_batches(folder: Path, kind: np.dtype, rows: int, workers: int, epochs: int | None) -> Iterator[Batch]:
    """Shuffled batches of `epochs` passes, without end by default; the workers make whole batches."""
    streaming = _streaming()
    streaming.base.util.clean_stale_shared_memory()
    dataset = streaming.StreamingDataset(local=str(folder), shuffle=True, shuffle_seed=0, batch_size=rows)
    loader = streaming.StreamingDataLoader(
        dataset, batch_size=rows, num_workers=workers, persistent_workers=True, collate_fn=partial(_collate, kind, FILE)
    )
    for _ in _passes(epochs):
        yield from loader


def _collate(kind: np.dtype, field: str | int, samples: Sequence[Any]) -> Batch:
    return batch([sample[field] for sample in samples], kind)


def _streaming() -> Any:
    """The package. Its data sets of images, not used here, import torchvision.

    A torchvision that was built for another kind of torch (CUDA beside CPU) loads without its operators and fails on
    two of them; their names are enough.
    """
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        for name in ("nms", "qnms"):
            library.define(f"torchvision::{name}", "(Tensor a, Tensor b, float c) -> Tensor")
    import streaming

    return streaming


SHUFFLE_SAMPLES = 5000
"""Of the buffer, in each worker."""


def _write_webdataset(shards: Sequence[Path], out: Path, kind: np.dtype) -> None:
    """One tar file per shard."""
    import webdataset

    out.mkdir(parents=True)
    for shard in shards:
        with webdataset.TarWriter(str(out / f"{shard.stem}.tar")) as writer:
            number = 0
            for rows in records([shard], kind):
                for row in rows:
                    writer.write({"__key__": f"{number:06d}", FILE: row.tobytes()})
                    number += 1


def _webdataset_batches(folder: Path, kind: np.dtype, rows: int, workers: int, epochs: int | None) -> Iterator[Batch]:
    """Shuffled batches of `epochs` passes, without end by default; the rest of a worker's part is a smaller batch.

    The workers make whole batches. Each of them has shards of its own.
    """
    import webdataset

    files = sorted(str(file) for file in folder.glob("*.tar"))
    dataset = webdataset.WebDataset(files, shardshuffle=len(files), seed=0, empty_check=False)
    made = dataset.shuffle(SHUFFLE_SAMPLES, initial=SHUFFLE_SAMPLES // 5).to_tuple(FILE)
    made = made.batched(rows, collation_fn=partial(_collate, kind, 0))
    loader = webdataset.WebLoader(made, batch_size=None, num_workers=workers, persistent_workers=True)
    for _ in _passes(epochs):
        yield from loader


FEATURES = ("video", "audio")


class VideoFiles(Dataset[Batch]):
    """The videos of a folder of `<id>.<feature>.npy` with one feature a second."""

    def __init__(self, folder: Path, clips_per_video: int) -> None:
        self._folder, self._wanted = folder, clips_per_video
        clips = np.load(folder / "clips.npy")
        self._videos = np.split(clips, np.flatnonzero(np.diff(clips["video"])) + 1)

    def __len__(self) -> int:
        return len(self._videos)

    def __getitem__(self, index: int) -> Batch:
        """Clips of video `index`: features (clips, dim), tokens (clips, words), keys (clips,)."""
        clips = self._videos[index]
        replace = len(clips) < self._wanted
        clips = clips[np.random.choice(len(clips), self._wanted, replace)]
        name = f"v{int(clips['video'][0]):06d}"
        item: Batch = {"tokens": torch.from_numpy(clips["tokens"].astype(np.int64))}
        for key in ("clip_key", "video_key"):
            item[key] = torch.from_numpy(clips[key].copy())
        for feature in FEATURES:
            seconds = torch.from_numpy(np.load(self._folder / f"{name}.{feature}.npy")).float()
            item[feature] = torch.stack([_pooled(seconds[clip["start"] : clip["end"]]) for clip in clips])
            item[f"has_{feature}"] = torch.ones(len(clips), dtype=torch.bool)
        return item


def _pooled(seconds: torch.Tensor) -> torch.Tensor:
    """(seconds, dim) float32 to (dim,) float16."""
    return F.normalize(seconds.max(dim=0).values, dim=0).half()


def _video_batches(folder: Path, clips_per_video: int, rows: int, workers: int, epochs: int | None) -> Iterator[Batch]:
    """Batches of shuffled videos, of `epochs` passes, without end by default."""
    loader = DataLoader(
        VideoFiles(folder, clips_per_video),
        batch_size=rows // clips_per_video,
        shuffle=True,
        num_workers=workers,
        persistent_workers=workers > 0,
    )
    for _ in _passes(epochs):
        for videos in loader:
            yield {name: values.flatten(0, 1) for name, values in videos.items()}


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
    flags = parser.parse_args()
    if flags.action == "write":
        write(flags.loader, sorted(flags.shards.glob("*.parquet")), flags.data)
        return
    torch.set_num_threads(1)
    epochs = 1 if flags.action == "keep" else None
    made = batches(flags.loader, flags.data, flags.rows, flags.clips_per_video, flags.workers, epochs)
    if flags.action == "keep":
        keep(made, flags.out)
        return
    print(json.dumps(asdict(timed(made, lambda batch: len(batch["tokens"]), flags.seconds, flags.warm_up))))


def write(loader: Loader, shards: list[Path], out: Path) -> None:
    """The rows of our shards in the loader's format."""
    writers = {"webdataset": _write_webdataset, "mosaicml": _write_mosaicml, "lance": _write_lance}
    if loader not in writers:
        raise SystemExit(f"{loader}: its files are raw features, which benchmarks.feeding.data writes")
    writers[loader](shards, out, record_type(DIMS, MAX_WORDS))


def keep(made: Iterator[Batch], out: Path) -> None:
    """All rows of some batches as arrays in one file, in the order in which they came."""
    batches = list(made)
    arrays: dict[str, Any] = {name: np.concatenate([batch[name].numpy() for batch in batches]) for name in batches[0]}
    np.savez(out, **arrays)


def batches(
    loader: Loader, data: Path, rows: int, clips_per_video: int, workers: int, epochs: int | None = None
) -> Iterator[Batch]:
    """Batches of `epochs` passes, without end by default."""
    kind = record_type(DIMS, MAX_WORDS)
    match loader:
        case "webdataset":
            return _webdataset_batches(data, kind, rows, workers, epochs)
        case "mosaicml":
            return _mosaicml_batches(data, kind, rows, workers, epochs)
        case "lance":
            return _lance_batches(data, kind, rows, epochs)
        case "video_files":
            return _video_batches(data, clips_per_video, rows, workers, epochs)
        case _:
            assert_never(loader)


if __name__ == "__main__":
    main()
