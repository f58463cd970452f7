"""Items come from the rows of the data set: the first caption, times and kept columns of each key."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.builders.toy import toy_dataset, toy_videos, written
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.sources.pairs import Pairs
from vtr_core.fingerprint import key64
from vtr_core.retrieval.index.items import Item, Items, described


def _rows(manifest: Manifest, names: list[str]) -> list[dict]:
    reader = RowGroupReader(manifest, names)
    return [row for place in row_groups(manifest) for row in pa.table(reader.read_arrow(place)).to_pylist()]


def test_items_of_clips_have_times_and_the_first_caption(tmp_path: Path) -> None:
    manifest = toy_dataset(tmp_path)[0]
    first: dict[str, dict] = {}
    for row in _rows(manifest, ["clip_id", "video_id", "start", "end", "caption"]):
        first.setdefault(row["clip_id"], row)
    asked = list(first)[::-1]
    found = described(manifest, np.array([key64(name) for name in asked]))
    assert list(found) == [
        Item(*(first[name][c] for c in ("clip_id", "video_id", "start", "end", "caption"))) for name in asked
    ]


def test_items_of_whole_videos_have_no_times(tmp_path: Path) -> None:
    manifest = toy_videos(tmp_path)
    rows = _rows(manifest, ["video_id", "captions"])
    found = described(manifest, np.array([key64(row["video_id"]) for row in rows]))
    assert list(found) == [Item(row["video_id"], row["video_id"], None, None, row["captions"][0]) for row in rows]


def test_kept_columns_go_from_the_table_to_the_items(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((2, 3), np.float32))
    table = tmp_path / "t.csv"
    table.write_text("id,caption,video,channel\na,a dog,a.npy,news\na,a cat,a.npy,sport\nb,a bird,a.npy,\n")
    source = Pairs(table=str(table), keep_columns=("channel",))
    (manifest,) = written(source, tmp_path / "out", IngestOptions())
    assert Manifest.load(manifest.uri).schema == manifest.schema
    found = described(manifest, np.array([key64("b"), key64("a")]))
    assert [(item.item_id, item.caption, item.metadata) for item in found] == [
        ("b", "a bird", {"channel": ""}),
        ("a", "a dog", {"channel": "news"}),
    ]
    again = Items.from_buffer(pa.py_buffer(found.to_bytes()))
    assert list(again) == list(found)
    assert again.at([1, 0, 1]) == [again[1], again[0], again[1]]
    assert again.at([]) == []


def test_a_table_of_other_columns_is_refused() -> None:
    with pytest.raises((KeyError, ValueError)):
        Items(pa.table({"item_id": ["a"]}))
    with pytest.raises(IndexError, match="item 1 of 1"):
        Items.of([Item("a", "a")])[1]
    with pytest.raises(IndexError, match="item -1 of 1"):
        Items.of([Item("a", "a")]).at([0, -1])
