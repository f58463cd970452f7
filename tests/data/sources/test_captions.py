"""A table of captions without videos: what is grouped, split and dropped, and a captioner that reads it."""

from pathlib import Path

import pytest

from tests.fuzz.worlds import ingest
from vtr_core.config.override import override
from vtr_core.data.captions import video_captions
from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.sources.pairs import Captions
from vtr_core.data.sources.source import Drops
from vtr_core.errors import InputError
from vtr_core.run.inputs import usable_data, with_inputs
from vtr_core.run.presets import preset

TABLE = """id,caption,split
a,a dog runs,train
a,the dog is fast,train
,two birds,train
b,...,train
a,a dog sleeps,val
c,a cat,val
"""


def source(folder: Path, text: str = TABLE) -> Captions:
    folder.mkdir(exist_ok=True)
    (folder / "table.csv").write_text(text)
    return Captions(table=str(folder / "table.csv"))


def test_rows_of_an_id_belong_together_and_the_others_are_their_own(tmp_path: Path) -> None:
    drops = Drops()
    videos = source(tmp_path).videos(drops)
    assert [(video.video_id, video.content, video.split) for video in videos] == [
        ("a", ("a dog runs", "the dog is fast"), "train"),
        ("row3", ("two birds",), "train"),
        ("c", ("a cat",), "val"),
    ]
    assert dict(drops.counts) == {"empty_caption": 1, "split_conflict": 1}
    with pytest.raises(InputError, match="needs caption"):
        source(tmp_path, "id,text\na,b\n").videos(Drops())


def test_a_list_of_captions_is_of_one_thing(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"caption": ["a dog", "a cat"]}\n{"caption": "a man"}\n{"caption": 5}\n')
    table = Captions(table=str(tmp_path / "t.jsonl"))
    with pytest.raises(InputError, match=r"t\.jsonl, row 3, column caption: 5 is no text but int"):
        table.videos(Drops())
    (tmp_path / "t.jsonl").write_text('{"caption": ["a dog", "a cat"]}\n{"caption": "a man"}\n')
    videos = [(video.video_id, video.content) for video in table.videos(Drops())]
    assert videos == [("row1", ("a dog", "a cat")), ("row2", ("a man",))]


def test_a_captioner_takes_the_data_set(tmp_path: Path) -> None:
    ingest(source(tmp_path / "in"), tmp_path / "out", strict=False)
    training = splits(str(tmp_path / "out"))["train"]
    config = preset("caption-pretrain-tiny")
    manifest = usable_data(config.model, training)
    model = with_inputs(override(config, {}), manifest).model
    assert model.inputs.features == {"video": 1}
    videos = {video.video_id: video.captions for video in video_captions(Manifest.load(training))}
    assert videos == {"a": ("a dog runs", "the dog is fast"), "row3": ("two birds",)}
