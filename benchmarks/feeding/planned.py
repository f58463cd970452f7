"""The planned, shuffled batches read in this process, without Ray, as `scaling.workers 0` reads them.

python -m benchmarks.feeding.planned --data FOLDER
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from benchmarks.peers.timing import Timing, timed
from pipelines.arguments import parse
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.batches import ClipBatch, clip_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Part, Plan
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.stream.assemble import read_directly

SEED = 0


@dataclass(frozen=True)
class Flags:
    """What to read."""

    data: str
    """Folder of the shards."""
    rows: int = 4096
    """Rows of a batch."""
    clips_per_video: int = 32
    """Clips of a video in a batch."""
    seconds: float = 10.0
    """Batches are counted for about so long, after those that do not count."""
    warm_up: int = 8
    """Batches that do not count."""


def main(argv: Sequence[str]) -> None:
    """Read and print the timing as JSON."""
    print(json.dumps(asdict(measured(parse(Flags, argv, "python -m benchmarks.feeding.planned")))))


def measured(flags: Flags) -> Timing:
    """Batches as tensors."""
    batch = BatchConfig(videos=flags.rows // flags.clips_per_video, clips_per_video=flags.clips_per_video)
    return timed(tensors(flags.data, batch), lambda batch: batch.rows, flags.seconds, flags.warm_up)


def tensors(data: str, batch: BatchConfig) -> Iterator[ClipBatch]:
    """The planned batches, without end."""
    manifest = Manifest.load(data)
    features = [feature.name for feature in manifest.schema.features]
    for columns in planned(manifest, batch):
        yield clip_batch(columns, features)


def planned(manifest: Manifest, batch: BatchConfig, seed: int = SEED) -> Iterator[Columns]:
    """What the plan says, window after window, without end."""
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    return read_directly(reader, Plan(manifest, batch, seed), Part(0, 1), 0)


if __name__ == "__main__":
    main(sys.argv[1:])
