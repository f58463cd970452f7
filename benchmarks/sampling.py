"""What it costs that a batch takes 32 clips of each video and whole row groups are read.

    python -m benchmarks.sampling [--clips 32 75 113] [--rounds 5]

Videos of some number of clips, with the columns and sizes of capsule-howto's; a step takes 32 clips of each of its
videos. Processor seconds per clip delivered, in turns, of

    row groups   what training does: whole row groups are read and their checksums compared, 32 rows of a video copied
    rows         only the sampled rows of the features are read, one by one, and nothing is compared: a bound on what
                 pages of single rows could bring, on a local disk. An object store is asked for runs of bytes with
                 gaps of up to 64 KB (a request takes as long as some MB), so there they would all be read as before

Files lie in the page cache.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.howto_ingest.manifest import made_data_set
from benchmarks.machine import processor, versions
from benchmarks.report.pages import page_folder, write_page
from pipelines.arguments import parse
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import BatchPlan, Plan
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.records.schema import FeatureSpec, require_clips
from vtr_core.data.shards.shard_file import ShardFile
from vtr_core.data.stream.assemble import assemble
from vtr_core.run.presets import preset

RESULTS = Path(__file__).parent / "results"
FEATURES = (FeatureSpec("video", 4096), FeatureSpec("audio", 1024))
VIDEOS, VIDEOS_PER_BATCH = 128, 32


@dataclass(frozen=True)
class Flags:
    """What is measured."""

    clips: tuple[int, ...] = (32, 54, 75, 113)
    """Clips of a video: 113 of HowTo100M cut as published, about half as many of disjoint ones of five seconds."""
    rounds: int = 5
    """Times that each is measured; the median counts."""
    out: str = str(RESULTS)
    """Folder for sampling.json and sampling.md."""


def main(argv: Sequence[str]) -> None:
    """Measure, print and write."""
    flags = parse(Flags, argv, "python -m benchmarks.sampling")
    out = page_folder(flags.out)
    with tempfile.TemporaryDirectory() as work:
        rows = [_measured(Path(work) / str(clips), clips, flags.rounds) for clips in flags.clips]
    figures = {
        "rows": rows,
        "clips_per_video": preset("capsule-howto").batch.clips_per_video,
        "device": processor(),
        "load": round(os.getloadavg()[0], 1),
        "versions": versions("pyarrow", "numpy"),
        "command": " ".join(["python -m benchmarks.sampling", *argv]),
    }
    page = markdown(figures)
    write_page(out, "sampling", figures, page)
    print(page)


def _measured(folder: Path, clips: int, rounds: int) -> dict[str, Any]:
    folder.mkdir()
    made_data_set(folder, VIDEOS, VIDEOS, clips, FEATURES)
    manifest, config = Manifest.load(str(folder)), preset("capsule-howto").batch
    plan = Plan(manifest, config.model_copy(update={"videos": VIDEOS_PER_BATCH}), 0)
    batches = plan.window(0)
    ways: dict[str, Callable[[], int]] = {
        "row groups": lambda: _row_groups(manifest, plan, batches),
        "rows": lambda: _rows(manifest, plan, batches),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, read in ways.items():
            began = time.process_time()
            delivered = read()
            seconds[name].append((time.process_time() - began) / delivered)
    used = len({(group, row) for batch in batches for group, row in zip(batch.group, batch.row, strict=True)})
    groups = {group for batch in batches for group in batch.groups}
    sizes = [sum(counts) for shard in manifest.shards for counts in shard.row_groups]
    return {
        "clips": clips,
        "rows_read_per_row": sum(sizes[group] for group in groups) / used,
        "microseconds": {name: 1e6 * median(values) for name, values in seconds.items()},
        "lowest": {name: 1e6 * min(values) for name, values in seconds.items()},
        "highest": {name: 1e6 * max(values) for name, values in seconds.items()},
    }


def _row_groups(manifest: Manifest, plan: Plan, batches: Sequence[BatchPlan]) -> int:
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    return sum(len(batch["clip_key"]) for batch in assemble(reader, plan.row_groups, batches))


def _rows(manifest: Manifest, plan: Plan, batches: Sequence[BatchPlan]) -> int:
    """The features alone; the places of their values follow from the footer."""
    delivered, features = 0, require_clips(manifest.schema, manifest.uri).features
    for batch in batches:
        into = {feature.name: np.empty((len(batch.row), 2 * feature.dim), np.uint8) for feature in features}
        for number in batch.groups:
            place = plan.row_groups[number]
            shard = manifest.shards[place.shard]
            mine = np.flatnonzero(batch.group == number)
            with (
                ShardFile(manifest.location / shard.file, shard) as file,
                open(manifest.location.path + "/" + shard.file, "rb", buffering=0) as raw,
            ):
                group = file.metadata.row_group(place.index)
                columns = {
                    group.column(index).path_in_schema: group.column(index) for index in range(group.num_columns)
                }
                for feature in features:
                    chunk, width = columns[feature.name], 2 * feature.dim
                    first = chunk.data_page_offset + chunk.total_compressed_size - width * group.num_rows
                    for at in mine.tolist():
                        os.preadv(raw.fileno(), [into[feature.name][at]], first + width * int(batch.row[at]))
        delivered += len(batch.row)
    return delivered


def markdown(figures: dict[str, Any]) -> str:
    """The page."""
    first = figures["rows"][0]["microseconds"]["row groups"]
    lines = [
        f"# {figures['clips_per_video']} clips of each video, read by whole row groups",
        "",
        "Processor microseconds per clip delivered (lowest to highest), and how often the bytes of a clip are read",
        "for each that is used. `rows` reads the sampled rows of the features alone and compares no checksums: a",
        "bound on what pages of single rows could bring on a local disk.",
        "",
        "| clips of a video | rows read per row | row groups | to those of 32 | rows, unchecked |",
        "|---:|---:|---:|---:|---:|",
        *(_line(row, first) for row in figures["rows"]),
        "",
        "Row groups stay. What is read in vain is bytes, which the projection to many GPUs (`benchmarks/scale_model`)",
        "now counts: a core that asks for single rows of files in the page cache does not get them for less, without",
        "a checksum even; an object store is asked for runs with gaps of 64 KB at once, since a request costs as much",
        "as some MB, so that all would be read as before. Sampling neighbours instead of any clips would read less",
        "and train on other batches than the papers do.",
        "",
        f"{figures['device']}, load {figures['load']}; "
        + ", ".join(f"{name} {value}" for name, value in figures["versions"].items()),
        f"`{figures['command']}`.",
    ]
    return "\n".join(lines) + "\n"


def _line(row: dict[str, Any], first: float) -> str:
    def shown(name: str) -> str:
        return f"{row['microseconds'][name]:.1f} ({row['lowest'][name]:.1f} to {row['highest'][name]:.1f})"

    relative = row["microseconds"]["row groups"] / first
    read = f"| {row['clips']} | {row['rows_read_per_row']:.2f} | {shown('row groups')} "
    return f"{read}| {relative:.2f} | {shown('rows')} |"


if __name__ == "__main__":
    main(sys.argv[1:])
