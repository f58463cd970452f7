"""A video's frames come one a second, from one folder or from streams that are normalised and joined."""

from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.features.second_features import SecondFeatures, per_second
from vtr_core.data.sources.source import KEPT, Drops
from vtr_core.errors import InputError


class Seconds(SecondFeatures):
    """Features of some videos."""

    ids: tuple[str, ...] = ("v",)

    @property
    def _feature_ids(self) -> tuple[str, ...]:
        return self.ids


def save(folder: Path, name: str, array: np.ndarray) -> str:
    folder.mkdir(exist_ok=True)
    np.save(folder / f"{name}.npy", array)
    return str(folder)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.array([[np.sqrt(sum(v * v for v in row))] for row in rows])


def test_streams_are_normalised_by_row_and_joined(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    first, second, sound = generator.random((5, 4)) + 1, generator.random((4, 2)) + 1, generator.random((5, 3)) * 7
    source = Seconds(
        features_2d=save(tmp_path / "2", "v", first),
        features_3d=save(tmp_path / "3", "v", second),
        fps_3d=1.0,
        audio=save(tmp_path / "a", "v", sound),
    )
    assert source.features() == (FeatureSpec("video", 6), FeatureSpec("audio", 3))
    frames = source.frames("v", Drops(strict=True))
    np.testing.assert_allclose(frames["video"], np.concatenate([unit(first[:4]), unit(second)], axis=1), atol=1e-3)
    np.testing.assert_allclose(frames["audio"], sound, atol=4e-3)


def test_columns_of_one_file(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).random((3, 9)) + 1
    folder = save(tmp_path / "f", "v", rows)
    source = Seconds(
        features_2d=folder, columns_2d=(3, 7), features_3d=folder, columns_3d=(0, 3), audio=folder, columns_audio=(7, 9)
    )
    frames = source.frames("v", Drops(strict=True))
    np.testing.assert_allclose(frames["video"], np.concatenate([unit(rows[:, 3:7]), unit(rows[:, :3])], 1), atol=1e-3)
    np.testing.assert_allclose(frames["audio"], rows[:, 7:], atol=1e-3)


def test_rows_of_a_second_become_one() -> None:
    rows = np.array([[1.0], [5.0], [2.0], [8.0], [3.0], [9.0], [4.0]])
    assert per_second(rows, 1.0).tolist() == rows.tolist()
    assert per_second(rows, 2.0).tolist() == [[5.0], [8.0], [9.0]]
    assert per_second(rows, 2.0, mean=True).tolist() == [[3.0], [5.0], [6.0]]
    assert per_second(rows, 1.5).tolist() == [[1.0], [5.0], [8.0], [9.0]]
    assert per_second(rows[:2], 0.5).tolist() == [[1.0], [1.0], [5.0], [5.0]]
    assert per_second(rows[:1], 25.0).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (None, "missing_file"),
        (np.ones(3), "wrong_rank"),
        (np.full((2, 3), np.nan), "not_finite"),
        (np.ones((2, 4)), "wrong_dimension"),
        (np.zeros((0, 3)), "wrong_dimension"),
    ],
)
def test_a_video_without_usable_frames_stays_and_is_named(
    tmp_path: Path, array: np.ndarray | None, reason: str
) -> None:
    source = Seconds(video_features=save(tmp_path / "f", "good", np.ones((2, 3))), ids=("good",))
    assert source.features() == (FeatureSpec("video", 3),)
    if array is not None:
        save(tmp_path / "f", "bad", array)
    drops = Drops()
    assert source.frames("bad", drops) == {}
    assert drops.counts == {KEPT: 1}
    assert "bad" in drops.examples[KEPT][0]
    assert drops.examples[KEPT][0].endswith(f"({reason})")
    with pytest.raises(InputError, match="bad"):
        source.frames("bad", Drops(strict=True))


def test_missing_audio_is_none_and_damaged_audio_is_named(tmp_path: Path) -> None:
    video = save(tmp_path / "f", "a", np.ones((2, 3)))
    audio = save(tmp_path / "s", "a", np.ones((2, 2)))
    for name in ("b", "c"):
        save(tmp_path / "f", name, np.ones((2, 3)))
    save(tmp_path / "s", "c", np.full((2, 2), np.inf))
    source, drops = Seconds(video_features=video, audio=audio, ids=("a",)), Drops()
    assert set(source.frames("b", drops)) == {"video"}
    assert not drops.counts
    assert set(source.frames("c", drops)) == {"video"}
    assert drops.counts == {"not_finite": 1}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "give --video-features, or --features-2d"),
        ({"video_features": "x", "features_2d": "y"}, "give --video-features, or --features-2d"),
        ({"video_features": "x", "features_3d": "y"}, "--features-3d goes with --features-2d"),
        ({"features_2d": "x", "columns_3d": (0, 2)}, "--columns-3d says which columns"),
        ({"features_2d": "x", "columns_2d": (2, 2)}, "--columns-2d needs a first column before the end"),
    ],
)
def test_settings_that_contradict_each_other(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Seconds(**settings)  # type: ignore[arg-type]


def test_3d_features_are_read_at_their_published_rate(tmp_path: Path) -> None:
    """An event at seconds 60 to 70 of the 3D stream, 1.5 rows a second, is found there and not from second 90 on."""
    motion = np.tile([1.0, 0.0], (150, 1))
    motion[90:105] = [0.0, 1.0]
    still = save(tmp_path / "2", "v", np.ones((100, 4)))
    source = Seconds(features_2d=still, features_3d=save(tmp_path / "3", "v", motion))
    frames = source.frames("v", Drops(strict=True))
    np.testing.assert_array_equal(np.flatnonzero(frames["video"][:, 5] == 1), np.arange(60, 70))
    wrong = Seconds(features_2d=still, features_3d=str(tmp_path / "3"), fps_3d=1.0)
    with pytest.raises(
        InputError, match=r"v differ by 50.0 s: 100 rows at 1 a second \(--fps\) last 100.0 s; 150 rows"
    ):
        wrong.features()


def test_one_video_of_other_length_stays_without_frames(tmp_path: Path) -> None:
    for video in ("v", "w", "x"):
        save(tmp_path / "2", video, np.ones((20, 4)))
        save(tmp_path / "3", video, np.ones((30, 2)))
        save(tmp_path / "a", video, np.ones((20, 3)))
    save(tmp_path / "3", "w", np.ones((20, 2)))
    save(tmp_path / "a", "v", np.ones((9, 3)))
    two, three, sound = (str(tmp_path / name) for name in "23a")
    source, drops = Seconds(features_2d=two, features_3d=three, audio=sound, ids=tuple("uvwx")), Drops()
    assert set(source.frames("v", drops)) == {"video"}
    assert set(source.frames("w", drops)) == {"audio"}
    assert drops.counts == {"streams_disagree": 1, KEPT: 1}
