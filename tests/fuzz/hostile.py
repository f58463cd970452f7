"""Indexes and shards with hashes that suit their damage, so that every parser is reached, read in this process.

python -m tests.fuzz.hostile KIND FIRST COUNT FOLDER prints the outcomes as JSON; a parser that crashes ends it.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pyarrow.parquet as pq

from tests.fuzz.mutations import clear, cut_part, flip_bytes, insert, npy_array, npy_header, repeat_part, truncate
from tests.fuzz.oracle import Tally, memory_limit
from tests.fuzz.worlds import WORLDS, ingest
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.shards.shard_file import check_files
from vtr_core.fingerprint import fingerprint
from vtr_core.retrieval.index import candidates
from vtr_core.retrieval.index.index import MARKER, IndexRecord, Shard, VideoIndex, load_index, save_index
from vtr_core.retrieval.index.items import Item
from vtr_core.storage import locate

Change = Callable[[Path, Random], None]
ITEMS, DIM = 600, 16


def end_value(file: Path, random: Random) -> None:
    """Other values at the end of the file, where an array has its last ones."""
    content = bytearray(file.read_bytes())
    value = random.choice(
        [b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"\x00\x00\xc0\x7f", bytes(4)]
    )
    place = max(0, len(content) - 4 * random.choice([1, 2, 3, 50]))
    content[place : place + 4] = value
    file.write_bytes(content)


BYTES: tuple[Change, ...] = (flip_bytes, flip_bytes, truncate, insert, repeat_part, cut_part, end_value, end_value)


def valid_index(folder: Path) -> None:
    """An index of items with candidates."""
    vectors = np.random.default_rng(0).standard_normal((ITEMS, DIM)).astype(np.float32)
    items = [Item(f"v{number}", "v", 0.0, 1.0, f"caption {number}", {"link": "x"}) for number in range(ITEMS)]
    shard = Shard.of({"video": vectors, "has_video": np.ones(ITEMS, np.bool_)}, items)
    candidates.FEWEST = 100
    made = candidates.build_candidates(vectors)
    record = IndexRecord("joint", "/run", "m", "toy", "/data", "d", 0, {}, "cosine", 0.5, "ivf-pq")
    parts = Shard(shard.tensors, shard.items, shard.lookup, made)
    save_index(locate(folder), VideoIndex.of(record, parts))


def change_index(folder: Path, random: Random) -> str:
    """Damage one file, and the record's hash and size of it."""
    file = random.choice(sorted(path for path in folder.iterdir() if path.name != MARKER))
    changes = (*BYTES, npy_header, npy_array) if file.suffix == ".npy" else BYTES
    change = random.choice(changes)
    change(file, random)
    value, content = json.loads((folder / MARKER).read_text()), file.read_bytes()
    value.pop("fingerprint")
    for shard in value["shards"]:
        for stored in shard["files"].values():
            if stored["file"] == file.name:
                stored.update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    (folder / MARKER).write_text(json.dumps({**value, "fingerprint": fingerprint(value)}))
    return f"{change.__name__} {file.name}"


def read_index(folder: Path) -> None:
    """What a search reads of an index."""
    index = load_index(locate(folder))
    queries = np.random.default_rng(1).standard_normal((3, DIM)).astype(np.float32)
    for shard in index.shards:
        made = candidates.candidates_of(shard, "video")
        assert made is not None
        assert all(0 <= place < len(shard.items) for near in made.find(queries, 20) for place in near)
        shard.items.at([0, len(shard.items) - 1])
        _ = shard.tensors["video"] @ queries.T
    index.position("v3")


def valid_shards(folder: Path, kind: str) -> None:
    """A data set whose pages have no checksums, in a layout of another writer."""
    world = WORLDS[kind]
    source = folder.parent / f"source-{kind}"
    source.mkdir()
    world.write(source)
    ingest(world.source(source), folder.parent / f"out-{kind}", strict=True)
    shutil.copytree(next(path.parent for path in (folder.parent / f"out-{kind}").rglob("manifest.json")), folder)
    for file in folder.glob("*.parquet"):
        table = pq.read_table(file)
        pq.write_table(
            table, file, compression="none", use_dictionary=["video_id"], row_group_size=2**20, write_statistics=False
        )
    sign_shards(folder)


def sign_shards(folder: Path) -> None:
    """A manifest whose hashes and sizes suit its shards."""
    value = json.loads((folder / "manifest.json").read_text())
    value.pop("fingerprint")
    for shard in value["shards"]:
        content = (folder / shard["file"]).read_bytes()
        footer = content[-(int.from_bytes(content[-8:-4], "little") + 8) :]
        shard.update(
            bytes=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            footer_sha256=hashlib.sha256(footer).hexdigest(),
        )
    (folder / "manifest.json").write_text(json.dumps({**value, "fingerprint": fingerprint(value)}))


def change_shards(folder: Path, random: Random) -> str:
    """Damage one shard, and the manifest's hashes of it."""
    file, change = random.choice(sorted(folder.glob("*.parquet"))), random.choice(BYTES)
    change(file, random)
    sign_shards(folder)
    return f"{change.__name__} {file.name}"


def read_shards(folder: Path) -> None:
    """Every column of every row group."""
    manifest = Manifest.load(str(folder))
    check_files(manifest)
    reader = RowGroupReader(manifest, manifest.schema.arrow().names)
    for place in row_groups(manifest):
        for column in reader.read_arrow(place).values():
            column.validate(full=True)
            column.to_pylist()


Kind = tuple[Callable[[Path], None], Callable[[Path, Random], str], Callable[[Path], None]]
KINDS: Mapping[str, Kind] = {
    "index": (valid_index, change_index, read_index),
    "shard-clips": (partial(valid_shards, kind="pairs_jsonl"), change_shards, read_shards),
    "shard-videos": (partial(valid_shards, kind="msrvtt_videos"), change_shards, read_shards),
}


def main(kind: str, first: int, count: int, folder: Path) -> None:
    """Read `count` damaged copies within a limit of memory, and print what came of them."""
    make, change, read = KINDS[kind]
    valid, tally = folder / "valid", Tally()
    make(valid)
    read(valid)
    for seed in range(first, first + count):
        root = folder / str(seed) / "in"
        shutil.copytree(valid, root)
        case = f"{kind} {seed} {change(root, Random(seed))}"
        sys.stderr.write(f"{case}\n")
        with memory_limit():
            tally.run(case, partial(read, root), str(root), "the index's candidates")
        clear(root.parent)
    sys.stdout.write(json.dumps(asdict(tally)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
