"""Several data sets trained on as one: the rows of all of them, from their own folders, under one vocabulary."""

import json
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from tests.builders.captioned import CaptionedVideos
from tests.builders.toy import written
from vtr_core.config.data_sets import BatchConfig, joined_uris, joined_weights, weighted
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest, Shard, training_sets
from vtr_core.data.plan import Part, Plan
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.records.schema import require_videos
from vtr_core.data.shards.shard_file import usable
from vtr_core.data.shards.thumbnails import SUFFIX, Thumbnail, Thumbnails, write_thumbnails
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.stream.assemble import read_directly
from vtr_core.errors import ConfigError, DatasetError, SchemaMismatch
from vtr_core.fingerprint import key64


def _made(folder: Path, captions: dict[str, list[str]], words: WordTable | None = None, **options: int) -> Manifest:
    settings = IngestOptions(videos_per_shard=2, **options)  # type: ignore[arg-type]
    return written(CaptionedVideos(captions), folder, settings, words)[0]


def _both(tmp_path: Path) -> tuple[Manifest, Manifest]:
    first = _made(tmp_path / "a", {f"a{n}": ["a dog runs"] for n in range(3)})
    return first, _made(tmp_path / "b", {f"b{n}": ["a dog"] for n in range(5)}, WordTable.load(first))


def test_an_epoch_has_the_videos_of_both(tmp_path: Path) -> None:
    first, second = _both(tmp_path)
    manifest = usable(f"{first.uri} + {second.uri}", require_videos)
    assert (manifest.videos, manifest.vocabulary) == (8, first.vocabulary)
    plan = Plan(manifest, BatchConfig(videos=4, clips_per_video=1), 0)
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    epoch = islice(read_directly(reader, plan, Part(0, 1), 0), plan.steps_per_epoch)
    shown = [key for batch in epoch for key in batch["video_key"].tolist()]
    assert sorted(shown) == sorted(key64(name) for name in [*(f"a{n}" for n in range(3)), *(f"b{n}" for n in range(5))])


def test_the_fingerprint_is_of_all_parts_in_their_order(tmp_path: Path) -> None:
    first, second = _both(tmp_path)
    remote, back = (Manifest.load(f"{a.uri} + {b.uri}") for a, b in ((first, second), (second, first)))
    assert len({remote.fingerprint, back.fingerprint, first.fingerprint, second.fingerprint}) == 4
    assert Manifest.load(remote.uri) == remote


def test_data_sets_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    first = _made(tmp_path / "a", {"a": ["a dog runs"]})
    other = _made(tmp_path / "b", {"b": ["a cat"]})
    with pytest.raises(DatasetError, match=r"another vocabulary than .*--vocabulary"):
        Manifest.load(f"{first.uri} + {other.uri}")
    longer = _made(tmp_path / "c", {"c": ["a dog"]}, WordTable.load(first), max_words=30)
    with pytest.raises(
        DatasetError, match=r"other columns.*: videos/1, .*30 words a caption; there .* 20 words a caption: make"
    ):
        Manifest.load(f"{first.uri} + {longer.uri}")
    (tmp_path / "b" / other.shards[0].file).unlink()
    second = _made(tmp_path / "d", {"d": ["a dog"]}, WordTable.load(first))
    (tmp_path / "d" / second.shards[0].file).unlink()
    with pytest.raises(DatasetError, match="is missing though the manifest lists it"):
        usable(f"{first.uri} + {second.uri}", require_videos)
    with pytest.raises((DatasetError, SchemaMismatch), match="is not a data set"):
        Manifest.load(f"{first.uri} + {tmp_path / 'none'}")


def test_a_file_cannot_say_that_its_shards_lie_elsewhere() -> None:
    shard = Shard("p.parquet", 1, 16, "", "", ((1,),))
    assert json.loads(json.dumps(replace(shard, folder="/elsewhere").to_json())) == shard.to_json()
    assert Shard.from_json({**shard.to_json(), "folder": "/elsewhere"}) == shard


def test_an_epoch_passes_over_a_set_as_often_as_its_weight_says(tmp_path: Path) -> None:
    first, second = _both(tmp_path)
    manifest = usable(weighted(f"{first.uri} + {second.uri}", [3, 1]), require_videos)
    assert (manifest.videos, manifest.uri) == (14, f"3 * {first.uri} + {second.uri}")
    plan = Plan(manifest, BatchConfig(videos=2, clips_per_video=1), 0)
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    epoch = islice(read_directly(reader, plan, Part(0, 1), 0), plan.steps_per_epoch)
    shown = Counter(key for batch in epoch for key in batch["video_key"].tolist())
    assert shown == {**{key64(f"a{n}"): 3 for n in range(3)}, **{key64(f"b{n}"): 1 for n in range(5)}}


def test_weights_are_part_of_the_fingerprint_and_of_the_training_sets(tmp_path: Path) -> None:
    first, second = _both(tmp_path)
    plain, double = f"{first.uri} + {second.uri}", f"2 * {first.uri} + {second.uri}"
    assert Manifest.load(plain).fingerprint != Manifest.load(double).fingerprint
    assert Manifest.load(f"1 * {first.uri} + {second.uri}") == Manifest.load(plain)
    assert training_sets(double, None) == (double, None)
    assert (joined_uris(double), joined_weights(double)) == ([first.uri, second.uri], [2, 1])
    assert weighted(plain, []) == plain


@pytest.mark.parametrize(
    ("data", "weights", "message"),
    [
        ("a + b", [2], "2 data sets need 2 whole numbers"),
        ("a + b", [0, 1], "2 whole numbers of 1 or more"),
        ("2 * a + b", [1, 1], "has weights already"),
        ("a", [2], "beside others; there is no other"),
    ],
)
def test_weights_that_cannot_be(data: str, weights: list[int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        weighted(data, weights)


def test_a_weight_of_0_or_a_set_given_twice_is_refused(tmp_path: Path) -> None:
    first, second = _both(tmp_path)
    with pytest.raises(ConfigError, match="weight is 0"):
        Manifest.load(f"0 * {first.uri} + {second.uri}")
    for settings in (Manifest.load, lambda uri: training_sets(uri, None)):
        with pytest.raises(DatasetError, match=r"given twice; (name it once|give it a weight)"):
            settings(f"{first.uri} + {first.uri}")


def test_thumbnails_come_from_the_folder_of_each_set(tmp_path: Path) -> None:
    """Files of the same name in both folders; of an item that both have it is that of the last."""
    sets = []
    for manifest, name in zip(_both(tmp_path), ("a0", "b4"), strict=True):
        pictures = [Thumbnail(item, 0.0, 1.0, name.encode()) for item in (name, "both")]
        file = write_thumbnails(manifest.location / f"0{SUFFIX}", pictures)
        shards = (replace(manifest.shards[0], thumbnails=file), *manifest.shards[1:])
        replace(manifest, shards=shards).save()
        sets.append(manifest.uri)
    thumbnail = Thumbnails(Manifest.load(" + ".join(sets))).find(["a0", "b4", "b1", "both"])
    assert {name: item.jpeg for name, item in thumbnail.items()} == {"a0": b"a0", "b4": b"b4", "both": b"b4"}


def test_a_folder_that_is_there_is_one_data_set_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert joined_uris("cooking + baking") == ["cooking", "baking"]
    for name in ("cooking + baking", "2 * cooking"):
        (tmp_path / name).mkdir()
        assert (joined_uris(name), joined_weights(name)) == ([name], [1])
    assert joined_uris("2 * cooking + 3 * films") == ["2 * cooking", "films"]


def test_an_epoch_of_captions_has_every_caption_of_both_once(tmp_path: Path) -> None:
    """As MSR-VTT with 20 captions a video beside TGIF with one: the share of rows is that of captions."""
    said = [f"a dog number{n} runs" for n in range(20)]
    first = _made(tmp_path / "a", {f"a{v}": [f"{caption} in v{v}" for caption in said] for v in range(3)})
    second = _made(tmp_path / "b", {f"b{v}": [f"the dog of v{v}"] for v in range(30)}, WordTable.load(first))
    manifest = usable(f"{first.uri} + {second.uri}", require_videos)
    plan = Plan(manifest, BatchConfig(videos=10, clips_per_video=1, epoch="captions", window=2), 0)
    assert plan.steps_per_epoch == (3 * 20 + 30) // 10
    reader = RowGroupReader(manifest, training_columns(manifest.schema))
    batches = list(islice(read_directly(reader, plan, Part(0, 1), 0), 2 * plan.steps_per_epoch))
    for epoch in (batches[: plan.steps_per_epoch], batches[plan.steps_per_epoch :]):
        captions = [key for batch in epoch for key in batch["caption_key"].tolist()]
        assert len(set(captions)) == len(captions) == 90
        by_video = Counter(key for batch in epoch for key in batch["video_key"].tolist())
        assert {by_video[key64(f"a{v}")] for v in range(3)} == {20}
    halves = [sum(key64(f"b{v}") in batch["video_key"] for batch in batches[:5] for v in range(30)), 30]
    assert 0 < halves[0] < 30  # the sets mix: neither comes first
    again = Plan(manifest, BatchConfig(videos=10, clips_per_video=1, epoch="captions", window=2), 0)
    resumed = next(iter(read_directly(reader, again, Part(0, 1), 7)))
    assert resumed["caption_key"].tolist() == batches[7]["caption_key"].tolist()


def test_an_epoch_of_captions_is_of_whole_videos(tmp_path: Path) -> None:
    first = _made(tmp_path / "a", {f"a{v}": ["a dog", "a cat"] for v in range(3)})
    with pytest.raises(ConfigError, match="takes a caption of a video at a time"):
        Plan(first, BatchConfig(videos=2, clips_per_video=2, epoch="captions"), 0)
