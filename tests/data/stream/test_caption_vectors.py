"""The feature `text` of whole videos: a vector for each caption, which follows its caption wherever that goes."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders.token_videos import DIM, text_vectors, token_videos
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.batches import frame_batch
from vtr_core.data.plan import Plan, row_groups
from vtr_core.data.reading.evaluated_rows import video_rows
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.shards.shard_file import caption_key
from vtr_core.data.stream.assemble import assemble
from vtr_core.errors import InputError
from vtr_core.fingerprint import key64


def test_a_training_row_has_the_vector_of_its_caption(tmp_path: Path) -> None:
    """However few frames are kept."""
    data = token_videos(tmp_path / "d")
    plan = Plan(data, BatchConfig(videos=4, clips_per_video=2, window=2, max_frames=1), seed=1)
    reader = RowGroupReader(data, training_columns(data.schema))
    expected = {
        (key64(f"v{v}"), caption_key(f"Caption number{c} of video number{v}")): vector
        for v in range(12)
        for c, vector in enumerate(text_vectors(v))
    }
    seen = set()
    for number in range(4 * plan.windows_per_epoch):
        for columns in assemble(reader, plan.row_groups, plan.window(number), max_frames=1):
            batch = frame_batch(columns, ["video", "text"])
            assert (batch.frames["text"].shape, batch.mask["text"].all()) == ((8, 1, DIM), True)
            for row, key in enumerate(zip(batch.video_key.tolist(), batch.caption_key.tolist(), strict=True)):
                np.testing.assert_array_equal(batch.frames["text"][row, 0], expected[key])
                np.testing.assert_allclose(batch.mean["text"][row], expected[key].astype(np.float32))
                seen.add(key)
    assert len(seen) > 15


@pytest.mark.parametrize("max_videos", [1, 2, 128])
def test_evaluation_reads_one_for_each_caption(max_videos: int, tmp_path: Path) -> None:
    data = token_videos(tmp_path / "d", blind=[4])
    found = {}
    for rows in video_rows(data, row_groups(data), 2, max_videos):
        assert rows.caption_vectors is not None
        assert "text" not in rows.frames
        for row, video in enumerate(rows.video_id):
            found[video] = rows.caption_vectors[np.flatnonzero(rows.caption_video == row)].numpy()
    assert len(found) == 12
    for v in range(12):
        np.testing.assert_array_equal(found[f"v{v}"], text_vectors(v))


def test_ingest_wants_one_for_each_caption(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="video v5 has 2 text vectors and 3 captions"):
        token_videos(tmp_path / "d", short=[5])
