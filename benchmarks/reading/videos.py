"""Ways to read planned, shuffled batches of whole videos."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

from benchmarks.reading.clips import Batches, scanned
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.plan import Plan
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.sources.synthetic import SyntheticTokens
from vtr_core.data.stream.assemble import assemble

OURS = "whole videos: read, verified, no means (ours, for MUSE and captioners)"
SCAN = "no batches: pyarrow's scan of whole videos in file order, memory-mapped, not verified"
FRAMES, GRID, DIM, BATCH = 12, 7, 512, 64
"""Frames of a video, 1 + grid x grid tokens of each, values of each, videos of a batch: CLIP's, as MUSE reads them."""


def made(folder: Path, num_videos: int, dim: int = DIM) -> Manifest:
    """Synthetic videos with tokens of `dim` values, made where they are missing."""
    if not splits(str(folder)):
        source = SyntheticTokens(num_videos=num_videos, frames=FRAMES, grid=GRID, dim=dim)
        ingest(source, IngestFlags(out=str(folder), workers=0))
    return Manifest.load(splits(str(folder))["train"])


def ways(manifest: Manifest) -> dict[str, Callable[[], Batches]]:
    """What is compared, by name."""
    columns = training_columns(manifest.schema)
    without, whole = (RowGroupReader(manifest, columns, means) for means in (False, True))
    return {
        OURS: lambda: planned(manifest, without),
        "the same with means over frames (ours, for the dual encoder)": lambda: planned(manifest, whole),
        SCAN: lambda: scanned(manifest),
    }


def planned(manifest: Manifest, reader: RowGroupReader) -> Batches:
    """The plan's batches, without end."""
    plan = Plan(manifest, BatchConfig(videos=BATCH, clips_per_video=1, max_frames=FRAMES), 0)
    for number in count():
        yield from assemble(reader, plan.row_groups, plan.window(number), max_frames=FRAMES)
