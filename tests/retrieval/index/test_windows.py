"""Windows of videos: what they hold is the mean of their rows, and only new or changed files are encoded again."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from vtr_core.data.sources.video_files import Inventory, VideoFile
from vtr_core.errors import ConfigError
from vtr_core.extraction.features import ClipPooling, Extracted, UnusableError, VideoFeatures, choose
from vtr_core.extraction.outputs import Extract
from vtr_core.retrieval.index import windows
from vtr_core.retrieval.index.windows import WindowSettings, WindowStore, features_of, item_ids, versions
from vtr_core.storage import locate
from vtr_core.unusable import Reason

DIM = 1280


@pytest.fixture(scope="module")
def settings() -> WindowSettings:
    return WindowSettings(choose(["imagenet-lite"], {}), ClipPooling("mean", False), 5.0, 64)


@pytest.fixture
def store(tmp_path: Path) -> WindowStore:
    return WindowStore.beside(locate(str(tmp_path / "found")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five files that a stand-in for the decoder understands."""
    videos = tmp_path / "films"
    videos.mkdir()
    for name in "abcde":
        (videos / f"{name}.mp4").write_text(name)
    return videos


def listed(folder: Path) -> list[windows.VideoVersion]:
    return versions(Inventory(str(folder)).files)


def seen(duration: float, seed: int = 0) -> VideoFeatures:
    """A row a second, and two pictures."""
    rows = np.random.default_rng(seed).normal(size=(max(1, int(duration)), DIM)).astype(np.float16)
    pictures = np.empty(max(1, int(2 * duration)), object)
    pictures[:] = [f"picture {number}".encode() for number in range(len(pictures))]
    return VideoFeatures({0: rows}, duration, {1: pictures})


def extraction(asked: list[str], stops_after: int | None = None) -> Extract:
    """A decoder for which `asked` tells what it was asked for; a file that holds "-" cannot be decoded."""

    def extract(uris: Sequence[str]) -> Iterator[tuple[int, Extracted]]:
        for position in reversed(range(len(uris))):  # in any order
            if len(asked) == stops_after:
                raise KeyboardInterrupt
            asked.append(Path(uris[position]).stem)
            content = Path(uris[position]).read_text()
            broken = UnusableError(Reason.NOT_A_VIDEO, f"{uris[position]} is no video")
            yield position, broken if content == "-" else seen(12.0, ord(content[0]))

    return extract


def encode(store: WindowStore, folder: Path, settings: WindowSettings, stops_after: int | None = None) -> list[str]:
    """The files that were decoded, as `vtr index` does it."""
    asked: list[str] = []
    now = listed(folder)
    list(store.encode(store.outdated(now), settings, extraction(asked, stops_after)))
    store.keep({video.name for video in now})
    return sorted(asked)


def stored_ids(store: WindowStore) -> list[str]:
    return sorted(item_id for table in store.tables() for item_id in item_ids(table))


@pytest.mark.parametrize(
    ("duration", "count"), [(0.04, 1), (4.0, 1), (7.4, 1), (7.5, 2), (12.4, 2), (12.6, 3), (3600, 720)]
)
def test_windows_cover_a_video_in_equal_parts(settings: WindowSettings, duration: float, count: int) -> None:
    spans = settings.spans(duration)
    assert len(spans) == count
    assert (spans[0][0], spans[-1][1]) == (0.0, pytest.approx(duration))
    assert all(end == start for (_, end), (start, _) in pairwise(spans))
    assert np.ptp([end - start for start, end in spans]) < 1e-9


def test_a_window_has_the_mean_of_its_rows_and_the_picture_of_its_middle(settings: WindowSettings) -> None:
    found = seen(12.0)
    video = windows.VideoVersion("a.mp4", "/a.mp4", 1, 1)
    rows = settings.rows(video, found)
    assert [(row["start"], row["end"]) for row in rows] == [(0.0, 6.0), (6.0, 12.0)]
    for row, part in zip(rows, (slice(0, 7), slice(6, 12)), strict=True):  # as vtr extract pools: the end's row, too
        expected = found.by_recipe[0][part].astype(np.float64).mean(axis=0)
        assert np.allclose(np.frombuffer(row["feature_video"], np.float16), expected, atol=1e-3)
    assert [row["jpeg"] for row in rows] == [b"picture 5", b"picture 17"]  # at 2.75 s (nearest to 3) and 8.75


def test_a_second_call_decodes_only_what_is_new_or_changed(
    store: WindowStore, folder: Path, settings: WindowSettings
) -> None:
    encode(store, folder, settings)
    assert encode(store, folder, settings) == []
    (folder / "b.mp4").write_text("x now longer")
    (folder / "f.mp4").write_text("f")
    before = store.fingerprint()
    assert encode(store, folder, settings) == ["b", "f"]
    assert store.fingerprint() != before
    assert len(stored_ids(store)) == len(set(stored_ids(store))) == 12
    rows: dict[str, np.ndarray | None] = {}
    for table in store.tables():
        rows |= zip(item_ids(table), features_of(table)["video"], strict=True)
    expected = seen(12.0, ord("x")).by_recipe[0][:7].astype(np.float64).mean(axis=0)
    changed = rows["b.mp4#0"]
    assert changed is not None
    assert np.allclose(changed, expected, atol=1e-3), "the changed content's features"


def test_a_killed_run_loses_at_most_a_part(
    store: WindowStore, folder: Path, settings: WindowSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "PART_FILES", 2)
    with pytest.raises(KeyboardInterrupt):
        encode(store, folder, settings, stops_after=3)
    assert len(store.names()) == 2, "the part that was complete"
    assert len(encode(store, folder, settings)) == 3
    assert len(stored_ids(store)) == 10


def test_files_that_cannot_be_decoded_are_counted_and_not_tried_again(
    store: WindowStore, folder: Path, settings: WindowSettings
) -> None:
    (folder / "c.mp4").write_text("-")
    encode(store, folder, settings)
    counts, examples = store.dropped()
    assert dict(counts) == {"not_a_video": 1}
    assert examples["not_a_video"].endswith("c.mp4 is no video")
    assert encode(store, folder, settings) == []
    assert len(stored_ids(store)) == 8
    (folder / "c.mp4").write_text("c again")
    assert encode(store, folder, settings) == ["c"]
    assert not store.dropped()[0]


def test_parts_of_another_model_or_window_are_refused(store: WindowStore, settings: WindowSettings) -> None:
    store.claim("encoder:bundled", "a" * 64, settings)
    store.claim("encoder:bundled", "a" * 64, settings)
    with pytest.raises(ConfigError, match="is an index of the encoder encoder:bundled, whose vectors cannot be"):
        store.claim("encoder:other", "b" * 64, settings)
    with pytest.raises(ConfigError, match="has windows of 5 s, not 7; leave out --window"):
        store.claim("encoder:bundled", "a" * 64, replace(settings, seconds=7.0))
    with pytest.raises(ConfigError, match="was made with other thumbnails"):
        store.claim("encoder:bundled", "a" * 64, replace(settings, thumbnail_size=None))
    with pytest.raises(ConfigError, match="--window is 0; it must be from"):
        replace(settings, seconds=0.0)


def test_a_file_that_is_not_there_is_always_tried_again(store: WindowStore, tmp_path: Path) -> None:
    (missing,) = versions([VideoFile("gone.mp4", str(tmp_path / "gone.mp4"))])
    assert (missing.bytes, missing.changed_ns) == (None, None)
    assert store.outdated([missing]) == [missing]
