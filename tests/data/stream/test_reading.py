"""What a block holds of batches comes out of it as it went in, and tells its shapes by itself."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders.toy import ToyFrames, toy_dataset, toy_videos, written
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import Plan
from vtr_core.data.reading.row_groups import Columns, RowGroupReader, training_columns
from vtr_core.data.stream.assemble import assemble
from vtr_core.data.stream.reading import _decode, _encode


def batches(manifest: Manifest, extra_captions: int = 0, means: bool = True) -> list[Columns]:
    plan = Plan(manifest, BatchConfig(videos=2, clips_per_video=2, window=2), 0)
    reader = RowGroupReader(manifest, training_columns(manifest.schema, extra_captions), means)
    planned = [batch for number in range(3) for batch in plan.window(number)]
    return list(assemble(reader, plan.row_groups, planned, extra_captions, "skip", max_frames=4))


@pytest.mark.parametrize("kind", ["clips", "clips and candidates", "videos", "videos without means", "frames"])
def test_a_block_gives_back_its_batches(kind: str, tmp_path: Path) -> None:
    if kind.startswith("videos"):
        given = batches(toy_videos(tmp_path, (3, 1, 2, 0, 5, 1, 2)), means=kind == "videos")
        assert len({batch["video"].shape for batch in given}) > 1
    elif kind == "frames":
        given = batches(written(ToyFrames(bad=frozenset({"v2:0"})), tmp_path, IngestOptions())[0])
        assert sum(len(batch["replaced"]) for batch in given) > 0
    else:
        given = batches(toy_dataset(tmp_path)[0], 2 if "candidates" in kind else 0)
    found = list(_decode(_encode(given)))
    assert len(found) == len(given) > 2
    for before, after in zip(given, found, strict=True):
        assert before.keys() == after.keys()
        for name, values in before.items():
            assert after[name].dtype == values.dtype
            np.testing.assert_array_equal(after[name], values)
