import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from vtr_core.data.sources.pairs import Pairs
from vtr_core.data.sources.source import Drops
from vtr_core.errors import ConfigError, InputError

RNG = np.random.default_rng(0)
LIPS = RNG.integers(0, 255, (10, 3, 2), dtype=np.uint8)
SOUND = RNG.standard_normal((20, 4)).astype(np.float32)
TABLE = [
    {"id": "a", "caption": "the letter a", "video": "lips/a.npy", "audio": "mfcc/a.npy"},
    {"id": "b", "caption": "the letter b", "video": "lips/b.npy", "audio": ""},
    {"id": "a", "caption": "an a", "video": "lips/a.npy", "audio": "mfcc/a.npy"},
]


class World:
    def __init__(self, root):
        self.root = root
        for folder in ("lips", "mfcc"):
            (root / folder).mkdir()
        for name in ("a", "b", "c"):
            np.save(root / "lips" / f"{name}.npy", LIPS)
            np.save(root / "mfcc" / f"{name}.npy", SOUND)
        self.write(TABLE)

    def write(self, rows):
        columns = list(dict.fromkeys(name for row in rows for name in row))
        lines = [",".join(columns), *(",".join(str(row.get(name, "")) for name in columns) for row in rows)]
        (self.root / "table.csv").write_text("\n".join(lines))

    def source(self, **settings):
        usual = {"table": str(self.root / "table.csv"), "feature_columns": ("video", "audio"), "pool": "mean"}
        return Pairs(**{**usual, **settings})


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def clips_of(source, drops=None):
    drops = Drops(strict=True) if drops is None else drops
    return [clip for video in source.videos(drops) for clip in source.clips(video, drops)]


def unit(vector):
    return vector / np.linalg.norm(vector)


def test_a_row_is_a_clip_with_a_caption_and_rows_of_one_id_share_it(world):
    clips = clips_of(world.source())
    assert [(clip.clip_id, clip.caption) for clip in clips] == [
        ("a", "the letter a"),
        ("a", "an a"),
        ("b", "the letter b"),
    ]
    np.testing.assert_array_equal(clips[0].features["video"], clips[1].features["video"])
    expected = unit(LIPS.reshape(10, 6).astype(np.float64).mean(axis=0))
    np.testing.assert_allclose(clips[0].features["video"], expected, atol=1e-3)
    np.testing.assert_allclose(clips[0].features["audio"], unit(SOUND.mean(axis=0)), atol=1e-3)
    assert (clips[0].start, clips[0].end) == (0, 0)


def test_an_empty_cell_is_a_feature_that_the_clip_lacks(world):
    assert clips_of(world.source())[2].features.keys() == {"video"}


def test_with_rates_files_are_cut_to_the_rows_times(world):
    world.write([{**TABLE[0], "video_id": "v", "start": 1, "end": 2.5}, {**TABLE[1], "video_id": "v"}])
    first, second = clips_of(world.source(fps=(2.0, 4.0), normalise=False))
    np.testing.assert_allclose(first.features["video"], LIPS[2:6].reshape(4, 6).mean(axis=0), rtol=2e-3)
    np.testing.assert_allclose(first.features["audio"], SOUND[4:11].mean(axis=0), atol=1e-3)
    assert (first.start, first.end) == (1, 2.5)
    np.testing.assert_allclose(second.features["video"], LIPS.reshape(10, 6).mean(axis=0), rtol=2e-3)
    assert (second.start, second.end) == (0, 5)


def test_tables_of_any_format_and_a_root_elsewhere(world, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("tables")
    rows = [{**row, "audio": row["audio"] or None, "start": None, "end": float("nan")} for row in TABLE]
    pq.write_table(pa.Table.from_pylist(rows), elsewhere / "t.parquet")
    lines = [json.dumps({name: value for name, value in row.items() if value == value}) for row in rows]
    (elsewhere / "t.jsonl").write_text("\n".join(lines))
    expected = clips_of(world.source())
    for name in ("t.parquet", "t.jsonl"):
        clips = clips_of(world.source(table=str(elsewhere / name), root=str(world.root)))
        assert [(c.clip_id, c.caption, c.features.keys()) for c in clips] == [
            (c.clip_id, c.caption, c.features.keys()) for c in expected
        ]


ROW = {"id": "c", "caption": "c", "video": "lips/c.npy", "audio": "mfcc/c.npy", "start": "", "end": "", "split": ""}
FAULTS = {
    "another file": ({**ROW, "id": "a"}, "duplicate_id", "an id is for one clip"),
    "another time": (
        {**ROW, **TABLE[0], "caption": "x", "start": 1, "end": 2},
        "duplicate_id",
        "an id is for one clip",
    ),
    "the same again": ({**ROW, **TABLE[0]}, "duplicate_id", "the same row again"),
    "no caption": ({**ROW, "caption": " "}, "empty_caption", "holds no word"),
    "no id": ({**ROW, "id": ""}, "unsafe_id", "the id is empty"),
    "no feature": ({**ROW, "video": "", "audio": ""}, "no_features", "c names no feature file"),
    "a path that leads out": ({**ROW, "video": "../lips/c.npy"}, "unsafe_id", "leads out of its folder"),
    "an absolute path": ({**ROW, "audio": "/etc/c.npy"}, "unsafe_id", "leads out of its folder"),
    "a missing file": ({**ROW, "audio": "mfcc/none.npy"}, "missing_file", "mfcc/none.npy"),
    "another dimension": ({**ROW, "audio": "lips/c.npy"}, "wrong_dimension", "gives 6 values"),
    "end before start": ({**ROW, "start": 2, "end": 1}, "end_before_start", "from 2 to 1 s"),
    "half a time": ({**ROW, "start": 2}, "bad_time", "both empty"),
    "no number": ({**ROW, "start": "a", "end": 2}, "bad_time", "from a to 2 s"),
    "endless": ({**ROW, "start": 1, "end": "inf"}, "bad_time", "from 1 to inf s"),
}


@pytest.mark.parametrize(("row", "reason", "message"), FAULTS.values(), ids=FAULTS)
def test_rows_at_fault_are_dropped_counted_and_named(world, row, reason, message):
    world.write([*TABLE, row])
    drops = Drops()
    assert len(clips_of(world.source(), drops)) == 3
    assert drops.counts == {reason: 1}
    assert message in drops.examples[reason][0]
    with pytest.raises(InputError, match=reason):
        clips_of(world.source())


@pytest.mark.parametrize(
    "settings",
    [
        {"feature_columns": ("id",)},
        {"feature_columns": ()},
        {"feature_columns": ("video", "video")},
        {"fps": (1.0,)},
        {"fps": (1.0, 0.0)},
        {"pool": "min"},
    ],
)
def test_settings_that_make_no_sense_are_errors(world, settings):
    with pytest.raises(ValidationError):
        world.source(**settings)


def test_paths_anywhere_where_they_are_allowed(world, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    np.save(elsewhere / "far.npy", np.ones((2, 3), np.float32))
    (elsewhere / "t.csv").write_text(
        f"id,caption,video\na,a film,{elsewhere}/far.npy\nb,a film,file://{elsewhere}/far.npy\n"
    )
    near = Pairs(table=str(elsewhere / "t.csv"))
    far = Pairs(table=str(elsewhere / "t.csv"), anywhere=True)
    assert "anywhere" not in near.settings()
    assert far.settings()["anywhere"] is True
    drops = Drops()
    assert not near.videos(drops)
    assert drops.counts == {"unsafe_id": 2}
    clips = [clip for video in far.videos(Drops(strict=True)) for clip in far.clips(video, Drops(strict=True))]
    assert [len(clip.features["video"]) for clip in clips] == [6, 6]


def test_kept_columns_are_texts_of_a_clip(world):
    world.write([{**row, "channel": f"news {n}", "year": 2000 + n} for n, row in enumerate(TABLE)])
    source = world.source(keep_columns=("channel", "year"))
    assert [dict(clip.metadata) for clip in clips_of(source)] == [
        {"channel": "news 0", "year": "2000"},
        {"channel": "news 2", "year": "2002"},
        {"channel": "news 1", "year": "2001"},
    ]
    assert source.settings()["keep_columns"] == ["channel", "year"]
    assert "keep_columns" not in world.source().settings()  # data sets made without keep their fingerprints
    assert clips_of(world.source())[0].metadata == {}


def test_a_column_that_cannot_be_kept_is_named(world):
    with pytest.raises(ConfigError, match=r"the column 'a b' cannot be kept"):
        world.source(keep_columns=("a b",))
    with pytest.raises(InputError, match="it needs id, caption, video, audio, channel"):
        clips_of(world.source(keep_columns=("channel",)))
