"""Collections of BigFiles: vectors by name, frames by video, captions, TGIF's splits, shots without captions."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from tests.builders.toy import written
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.evaluated_rows import video_rows
from vtr_core.data.sources.bigfile import BigFileVideos, Tgif, Trecvid
from vtr_core.data.sources.source import Drops
from vtr_core.errors import InputError
from vtr_core.storage import StorageError, locate
from vtr_core.storage.big_file import BigFile

NAMES = ["v1_10", "v1_2", "v_2_0", "v1_0"]
VALUES = np.arange(12, dtype=np.float32).reshape(4, 3)


def big_file(folder: Path, names: list[str] = NAMES, values: np.ndarray = VALUES) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "shape.txt").write_text(f"{len(values)} {values.shape[1]}\n")
    (folder / "id.txt").write_text(" ".join(names) + "\n")
    (folder / "feature.bin").write_bytes(values.astype("<f4").tobytes())
    return str(folder)


def _rows(source: BigFileVideos, folder: Path) -> dict[str, tuple[list[list[float]], list[str]]]:
    by_name = {}
    for manifest in written(source, folder, IngestOptions()):
        for videos in video_rows(manifest, row_groups(manifest), 64):
            for row, name in enumerate(videos.video_id):
                remaining = videos.mask["video"][row]
                captions = [c for c, v in zip(videos.captions, videos.caption_video, strict=True) if v == row]
                by_name[f"{manifest.source['split']}{name}"] = (
                    videos.frames["video"][row][remaining].tolist(),
                    captions,
                )
    return by_name


def test_vectors_are_read_by_name_wherever_they_lie(tmp_path: Path) -> None:
    file = BigFile(locate(big_file(tmp_path / "f")))
    assert file.shape == (4, 3)
    np.testing.assert_array_equal(file.read(["v1_0", "v1_10", "v1_2"]), VALUES[[3, 0, 1]])


def test_frames_are_a_videos_vectors_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    features = big_file(tmp_path / "f")
    (tmp_path / "c.txt").write_text("v1#0 a man runs\nv1#enc#1 he runs\nv_2#0 a dog\nv3#0 nobody\nbad line\nv1#2 …\n")
    source = BigFileVideos(feature_folder=features, captions_file=str(tmp_path / "c.txt"))
    assert _rows(source, tmp_path / "d") == {
        "v1": (VALUES[[3, 1, 0]].tolist(), ["a man runs", "he runs"]),
        "v_2": (VALUES[[2]].tolist(), ["a dog"]),
    }
    drops = Drops()
    source.videos(drops)
    assert dict(drops.counts) == {"missing_file": 1, "bad_line": 1, "empty_caption": 1}


def test_tgifs_sentences_go_to_the_splits_of_its_lists(tmp_path: Path) -> None:
    url = "https://38.media.tumblr.com/{}/{}.gif"
    features = big_file(tmp_path / "f", ["tumblr_a_0", "tumblr_b_0"], VALUES[:2])
    lines = [url.format("x", "tumblr_a") + "\ta man nods", url.format("y", "tumblr_b") + "\ta cat", "broken"]
    (tmp_path / "tgif.tsv").write_text("\n".join(lines))
    (tmp_path / "train.txt").write_text(url.format("x", "tumblr_a") + "\n")
    (tmp_path / "test.txt").write_text(url.format("y", "tumblr_b") + "\n")
    source = Tgif(feature_folder=features, captions_file=str(tmp_path / "tgif.tsv"), splits_folder=str(tmp_path))
    rows = _rows(source, tmp_path / "d")
    assert {name: captions for name, (_, captions) in rows.items()} == {
        "traintumblr_a": ["a man nods"],
        "testtumblr_b": ["a cat"],
    }


def test_shots_without_captions_are_a_collection_to_be_searched(tmp_path: Path) -> None:
    features = big_file(tmp_path / "f", ["shot1_1", "shot1_2"], VALUES[:2])
    rows = _rows(Trecvid(feature_folder=features, single=True), tmp_path / "d")
    assert rows == {"shot1_1": (VALUES[[0]].tolist(), []), "shot1_2": (VALUES[[1]].tolist(), [])}
    with pytest.raises(InputError, match="tv2016train has captions; give --captions-file"):
        Trecvid(feature_folder=features, collection="tv2016train").videos(Drops())


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("shape.txt", "4", "holds '4', not the numbers"),
        ("shape.txt", "5 3", "48 bytes where 5 vectors of 3 values need 60"),
        ("id.txt", "a_0 b_0 b_0 c_0", "4 names, 3 of them different"),
        ("id.txt", "a b_0 c_0 d_0", "'a' is not <video>_<number>; with --single"),
    ],
)
def test_files_that_do_not_go_together_are_named(file: str, content: str, message: str, tmp_path: Path) -> None:
    features = big_file(tmp_path)
    (tmp_path / file).write_text(content)
    with pytest.raises(InputError, match=message):
        source = BigFileVideos(feature_folder=features)
        source.features()
        source.videos(Drops())


def test_a_fault_of_the_store_is_one_of_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> np.ndarray:
        raise OSError("the store is gone")

    source = BigFileVideos(feature_folder=big_file(tmp_path / "f"))
    source.videos(Drops())
    monkeypatch.setattr(BigFile, "read_ranges", failing)
    with pytest.raises(StorageError, match=r"feature\.bin, v1 cannot be read \(the store is gone\)"):
        written(source, tmp_path / "d", IngestOptions())


def test_a_caption_goes_on_after_separators_that_end_no_line(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_bytes("v1#0 a man\u2028runs\r\n\nv1#1 he\u0085runs".encode())
    source = BigFileVideos(feature_folder=big_file(tmp_path / "f"), captions_file=str(tmp_path / "c.txt"))
    (video,) = source.videos(Drops(strict=True))
    assert video.content.captions == ("a man\u2028runs", "he\u0085runs")
    with pytest.raises(InputError, match=r"there is no file .*gone\.txt; give a text file in UTF-8"):
        BigFileVideos(feature_folder=str(tmp_path / "f"), captions_file=str(tmp_path / "gone.txt")).videos(Drops())


def test_tasks_are_sent_the_rows_of_their_videos_and_no_names(tmp_path: Path) -> None:
    names = [f"shot{n}_{frame}" for n in range(500) for frame in range(4)]
    features = big_file(tmp_path / "f", names, np.ones((len(names), 2), np.float32))
    source = BigFileVideos(feature_folder=features)
    videos = source.videos(Drops())
    assert videos[7].content.rows == ((28, 4),)
    assert len(pickle.dumps(source)) < 2000
    there = pickle.loads(pickle.dumps((source, videos[7])))
    video = there[0].video(there[1], Drops())
    assert video is not None
    assert video.features["video"].shape == (4, 2)
    assert "_frames" not in vars(pickle.loads(pickle.dumps(source)))
