import json

import pytest

from vtr_core.data.sources.published_captions import read_msvd
from vtr_core.data.sources.source import Drops
from vtr_core.errors import InputError

CAPTIONS = {"a_1_2": ["a man runs", "someone runs"], "b_3_4": ["a dog"], "c_5_6": ["rain"], "d_7_8": ["x", "y", "z"]}
LISTS = {"train_list.txt": "b_3_4\na_1_2\n", "val_list.txt": "c_5_6\nb_3_4\n", "test_list.txt": "lost_1_2\n\n"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "captions_msvd.json").write_text(json.dumps(CAPTIONS))
    for name, content in LISTS.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def test_listed_videos_come_with_split_and_captions(folder):
    drops = Drops()
    found = [(video.video_id, video.split, video.captions) for video in read_msvd(str(folder), drops)]
    assert found == [
        ("b_3_4", "train", ("a dog",)),
        ("a_1_2", "train", ("a man runs", "someone runs")),
        ("c_5_6", "val", ("rain",)),
    ]
    assert drops.counts == {"duplicate_id": 1, "empty_caption": 1, "unknown_video": 3}


@pytest.mark.parametrize("name", ["captions_msvd.json", *LISTS])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(InputError, match=name):
        list(read_msvd(str(folder), Drops()))


@pytest.mark.parametrize("content", ["[]", '{"a": "text"}'])
def test_captions_of_another_form_are_refused(folder, content):
    (folder / "captions_msvd.json").write_text(content)
    with pytest.raises(InputError, match="no JSON object of lists"):
        list(read_msvd(str(folder), Drops()))
