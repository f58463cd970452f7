"""Statistics of features equal those of all their present rows, and depend on the data set alone."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.feature_statistics import feature_statistics
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.shards.shard_file import DamagedShard
from vtr_core.errors import DatasetError


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    return toy_dataset(tmp_path / "d", clips_of=[1 + i % 5 for i in range(23)], videos_per_shard=2)[0]


def present_rows(manifest: Manifest, name: str, groups: list[int]) -> np.ndarray:
    reader = RowGroupReader(manifest, [name, f"has_{name}"])
    parts = [reader.read(row_groups(manifest)[group]) for group in groups]
    return np.concatenate([part[name][part[f"has_{name}"]] for part in parts]).astype(np.float64)


def test_they_are_those_of_the_present_rows(manifest: Manifest) -> None:
    number = len(row_groups(manifest))
    statistics = feature_statistics(manifest, max_row_groups=1000)
    assert set(statistics) == {"video", "audio"}
    video, audio = (present_rows(manifest, name, list(range(number))) for name in ("video", "audio"))
    np.testing.assert_allclose(statistics["video"].mean, video.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(statistics["video"].std, video.std(axis=0), rtol=1e-6)
    np.testing.assert_allclose(statistics["audio"].mean, audio.mean(axis=0), rtol=1e-6)
    assert audio.std(axis=0)[1] == 0
    assert statistics["audio"].std[1] == 1
    assert {values.mean.dtype for values in statistics.values()} == {np.dtype(np.float32)}


def test_a_large_mean_does_not_eat_the_deviation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = toy_dataset(tmp_path / "d", clips_of=[4] * 8, videos_per_shard=4)[0]
    rows = (60000 + 32 * np.arange(4))[:, None].astype(np.float16)
    read = {"video": np.tile(rows, (1, 3)), "has_video": np.ones(4, bool), "audio": rows, "has_audio": np.ones(4, bool)}
    monkeypatch.setattr(RowGroupReader, "read", lambda reader, place: read)
    statistics = feature_statistics(manifest)["video"]
    np.testing.assert_allclose(statistics.std, rows.astype(np.float64).std(), rtol=1e-6)


def test_rows_that_are_not_finite_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = toy_dataset(tmp_path / "d", clips_of=[4] * 8, videos_per_shard=8)[0]
    video = np.array([[np.nan, 1, 1], [1, 2, 3], [1, np.inf, 1], [3, 4, 5]], np.float16)
    present = np.ones(4, bool)
    read = {"video": video, "has_video": present, "audio": video[:, :2], "has_audio": present}
    monkeypatch.setattr(RowGroupReader, "read", lambda reader, place: read)
    statistics = feature_statistics(manifest)["video"]
    np.testing.assert_allclose(statistics.mean, [2, 3, 4])
    np.testing.assert_allclose(statistics.std, [1, 1, 1])


def test_a_feature_that_no_row_has_is_an_error(manifest: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    read = RowGroupReader.read

    def silent(reader: RowGroupReader, place: object) -> dict[str, np.ndarray]:
        columns = read(reader, place)
        return {**columns, "has_audio": np.zeros_like(columns["has_audio"])}

    monkeypatch.setattr(RowGroupReader, "read", silent)
    with pytest.raises(DatasetError, match=r"has audio; set model\.standardize to False"):
        feature_statistics(manifest)


def test_a_bad_row_group_is_an_error_or_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = toy_dataset(tmp_path / "d", clips_of=[2, 3, 4], videos_per_shard=1)[0]
    read = RowGroupReader.read

    def read_or_fail(reader: RowGroupReader, place: RowGroup) -> dict[str, np.ndarray]:
        if place.shard == 1:
            raise DamagedShard("damaged")
        return read(reader, place)

    monkeypatch.setattr(RowGroupReader, "read", read_or_fail)
    with pytest.raises(DamagedShard):
        feature_statistics(manifest)
    left = [read(RowGroupReader(manifest, ["video"]), RowGroup(shard, 0))["video"] for shard in (0, 2)]
    mean = np.concatenate(left).astype(np.float64).mean(axis=0)
    np.testing.assert_allclose(feature_statistics(manifest, on_bad_shard="skip")["video"].mean, mean, rtol=1e-6)


def test_those_of_whole_videos_are_over_all_frames(tmp_path: Path) -> None:
    frames_of = (3, 1, 4, 0, 5)
    statistics = feature_statistics(toy_videos(tmp_path, frames_of))
    frames = np.array([[v, t, v + t] for v, count in enumerate(frames_of) for t in range(count)], np.float64)
    np.testing.assert_allclose(statistics["video"].mean, frames.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(statistics["video"].std, frames.std(axis=0), rtol=1e-6)
    np.testing.assert_allclose(statistics["audio"].mean, [1.5, 1.5])
