"""Clips with features that are not finite are found by name."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.plan import Plan, row_groups
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.stream.assemble import assemble
from vtr_core.train.loop.alarms import keys_not_finite, suspects


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_clips_are_named_with_their_place(tmp_path: Path, value: float) -> None:
    manifest = toy_dataset(tmp_path)[0]
    places = row_groups(manifest)
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    columns = {name: np.concatenate([reader.read(place)[name] for place in places]) for name in reader.columns}
    assert keys_not_finite(columns, manifest.schema.features) == set()
    ids = RowGroupReader(manifest, ["clip_id", "video_id"])
    read = [ids.read(place)["clip_id"].tolist() for place in places]
    row = [name for names in read for name in names].index("v2:3")
    shard = next(number for number, names in enumerate(read) if "v2:3" in names)
    columns["video"][row, 1] = value
    absent = int(np.flatnonzero(~columns["has_audio"])[0])
    columns["audio"][absent] = np.nan
    keys = keys_not_finite(columns, manifest.schema.features)
    assert keys == {int(columns["clip_key"][row])}
    found = suspects(manifest, places, keys)
    assert found.clips == ("clip v2:3 of video v2",)
    assert found.places == (f"part-{shard:05d}.parquet (row group 0)",)
    assert str(found) == f"features that are not finite in clip v2:3 of video v2, in {found.places[0]}"


def test_whole_videos_are_named_by_frames_that_the_batch_leaves_out_too(tmp_path: Path) -> None:
    manifest = toy_videos(tmp_path, (3, 1, 4, 0, 5))
    plan = Plan(manifest, BatchConfig(videos=5, clips_per_video=2, max_frames=2), 0)
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    (columns,) = assemble(reader, plan.row_groups, plan.window(0), max_frames=2)
    assert keys_not_finite(columns, manifest.schema.features) == set()
    ids = RowGroupReader(manifest, ["video_id", "video_key"])
    place, key = next(
        (place, int(read["video_key"][read["video_id"].tolist().index("v4")]))
        for place in row_groups(manifest)
        if "v4" in (read := ids.read(place))["video_id"].tolist()
    )
    means = columns["video.mean"].copy()
    means[columns["video_key"] == key, 1] = np.nan  # as a frame beyond the first two makes it
    keys = keys_not_finite({**columns, "video.mean": means}, manifest.schema.features)
    assert keys == {key}
    found = suspects(manifest, plan.places(0), keys)
    assert found.clips == ("video v4",)
    assert found.places == (f"part-{place.shard:05d}.parquet (row group 0)",)
