"""A run whose vectors collapse, or whose loss stays at chance, says so once; features that are not finite are named."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.config.data_sets import BatchConfig
from vtr_core.data.plan import Plan, row_groups
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.stream.assemble import assemble
from vtr_core.systems.implementation import Compared
from vtr_core.train.loop.alarms import CollapseWatch, keys_not_finite, suspects

APART = torch.randn(32, 8, generator=torch.Generator().manual_seed(0))
ALIKE = APART[:1].expand(32, 8)


def compared(vectors: torch.Tensor, chance: float | None = None) -> Compared:
    return Compared({"video": vectors}, {"video_video": lambda: vectors @ vectors.T}, chance=lambda: chance)


def test_what_is_looked_at_is_logged() -> None:
    values = CollapseWatch(0).look(10, 1.0, compared(APART, 4.0))
    assert set(values) == {
        "train/row_share_video",
        "train/effective_rank_video",
        "train/similarity_deviation_video_video",
        "train/chance",
    }
    assert values["train/row_share_video"] > 0.9


def test_a_collapse_is_told_once_with_its_cause() -> None:
    watch = CollapseWatch(0)
    watch.look(10, 1.0, compared(APART))
    assert watch.collapse is None
    watch.look(20, 1.0, compared(ALIKE))
    assert watch.collapse is not None
    assert "video" in watch.collapse.what
    assert "learning_rate" in watch.collapse.cause
    watch.look(30, 1.0, compared(ALIKE))
    assert watch.collapse is None


def test_chance_counts_after_the_warm_up_and_until_the_loss_is_below_it() -> None:
    watch = CollapseWatch(warm_steps=15)
    watch.look(10, 4.0, compared(APART, 4.0))
    assert watch.at_chance is None
    watch.look(20, 3.99, compared(APART, 4.0))
    assert watch.at_chance == 4.0
    watch.look(30, 3.0, compared(APART, 4.0))
    assert watch.at_chance is None
    assert "train/chance" not in watch.look(40, 4.0, compared(APART, 4.0))


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
