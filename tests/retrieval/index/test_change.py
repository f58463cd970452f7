"""An index that was added to or deleted from is the one that would have been built of the same items."""

import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from pipelines.embed import EmbedFlags, embed
from pipelines.index.command import IndexFlags
from pipelines.index.indexing import index
from tests.builders.dual_checkpoints import capsule_checkpoint, dual_checkpoint
from tests.builders.toy import Toy, toy_dataset, toy_videos, written
from tests.optional import optional
from tests.retrieval.index.test_index import toy_index
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import ConfigError, DatasetError, RunConflict
from vtr_core.retrieval.index.build import extended, new_shard, searched, without
from vtr_core.retrieval.index.index import Backend, Kind, Shard, VideoIndex, load_index, save_index
from vtr_core.retrieval.index.items import Item, Items
from vtr_core.retrieval.search.index_search import SearchOptions, searcher
from vtr_core.storage import locate
from vtr_core.train.checkpoint import load_model


def joint(
    *shards: str, modalities: tuple[str, ...] = ("audio", "video"), backend: Backend = "exact", kind: Kind = "joint"
) -> VideoIndex:
    """Shards of clips named by letters, two of each video; vectors are a function of a clip's name and modality."""
    record = replace(toy_index().record, kind=kind, similarity="dot", concepts=(), backend=backend)
    return VideoIndex.of(record, *(_shard(names, modalities, backend) for names in shards))


def _shard(names: str, modalities: tuple[str, ...], backend: Backend) -> Shard:
    tensors: dict[str, np.ndarray] = {}
    for name in modalities:
        rows = [np.random.default_rng([ord(clip), len(name), ord(name[0])]).normal(size=3) for clip in names]
        tensors[name] = np.array(rows, np.float32)
        tensors[f"has_{name}"] = np.ones(len(names), bool)
    items = Items.of(Item(clip, f"video{ord(clip) // 2}", 0, 1, f"caption {clip}", {"channel": clip}) for clip in names)
    return new_shard(tensors, items, backend)


def _divided(index: VideoIndex) -> list[str]:
    return ["".join(item.item_id for item in shard.items) for shard in index.shards]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return toy_dataset(tmp_path_factory.mktemp("data"))[0]


def _assert_same(found: VideoIndex, expected: VideoIndex) -> None:
    assert tuple(found.items) == tuple(expected.items)
    assert (found.record.num_items, found.record.sizes) == (len(expected.items), expected.record.sizes)
    assert _divided(found) == _divided(expected)
    for one, other in zip(found.shards, expected.shards, strict=True):
        assert one.tensors.keys() == other.tensors.keys()
        assert all(np.array_equal(one.tensors[name], other.tensors[name]) for name in other.tensors)
        assert np.array_equal(one.lookup.order, other.lookup.order)


def test_added_items_follow_and_replace_those_of_the_same_id(data: Manifest) -> None:
    found = extended(joint("abcd"), joint("cef"), data)
    _assert_same(found, joint("abdcef"))
    assert (found.record.data, found.record.data_fingerprint) == (data.uri, data.fingerprint)


@pytest.mark.parametrize(
    ("before", "added", "after"),
    [
        (["abcd"], ["e"], ["abcd", "e"]),
        (["abcd", "e"], ["f"], ["abcd", "ef"]),
        (["abcd", "ef", "g"], ["h"], ["abcdefgh"]),
        (["abc", "d"], ["dx"], ["abc", "dx"]),
        (["ab", "c"], ["ab", "x"], ["cab", "x"]),
    ],
    ids=str,
)
def test_an_added_shard_takes_in_those_that_are_not_larger(
    before: list[str], added: list[str], after: list[str], data: Manifest
) -> None:
    _assert_same(extended(joint(*before), joint(*added), data), joint(*after))


def test_no_shard_outgrows_its_limit(data: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtr_core.retrieval.index.build.SHARD_ITEMS", 3)
    assert _divided(extended(joint("ab"), joint("cd"), data)) == ["ab", "cd"]


def test_an_index_of_a_dual_encoder_stays_one_shard(data: Manifest) -> None:
    _assert_same(extended(joint("abcd", kind="dual"), joint("e", kind="dual"), data), joint("abcde", kind="dual"))


def test_a_modality_that_one_part_lacks_is_absent_from_its_items(data: Manifest) -> None:
    found = extended(joint("ab", modalities=("video",)), joint("cd"), data)
    (shard,) = found.shards
    assert found.record.sizes == {"audio": 3, "video": 3}
    assert shard.tensors["has_audio"].tolist() == [False, False, True, True]
    assert not shard.tensors["audio"][:2].any()
    assert np.array_equal(shard.tensors["video"], joint("abcd").shards[0].tensors["video"])


def test_items_and_whole_videos_are_deleted() -> None:
    _assert_same(without(joint("abcd"), ["a"]), joint("bcd"))
    assert joint("abcd").items[1].video_id == joint("abcd").items[2].video_id
    _assert_same(without(joint("abcd"), [joint("b").items[0].video_id]), joint("ad"))
    with pytest.raises(ConfigError, match="--delete x: the index has no such item or video"):
        without(joint("abcd"), ["a", "x"])
    with pytest.raises(ConfigError, match="every item"):
        without(joint("ab"), ["a", "b"])


def test_items_are_deleted_from_the_shards_that_have_them() -> None:
    before = joint("ab", "c", "def")
    found = without(before, ["c", "e"])
    _assert_same(found, joint("ab", "df"))
    assert found.shards[0] is before.shards[0]


def test_candidates_follow(data: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vtr_core.retrieval.index.build.build_candidates", lambda vectors: {"sums": vectors})
    for changed in (
        extended(joint("abc", backend="ivf-pq"), joint("def", backend="ivf-pq"), data),
        extended(joint("abcd", backend="ivf-pq"), joint("de", backend="ivf-pq"), data),
        without(joint("abcdex", backend="ivf-pq"), ["x"]),
    ):
        for shard in changed.shards:
            assert shard.candidates is not None
            assert np.array_equal(shard.candidates["sums"], searched(shard))


def test_of_two_changes_of_one_revision_the_second_is_refused(tmp_path: Path) -> None:
    place = locate(str(tmp_path))
    save_index(place, joint("abc"))
    one, other = load_index(place), load_index(place)
    first = save_index(place, without(one, ["a"]))
    files = set(tmp_path.iterdir())
    for change in (without(other, ["b"]), without(other, ["a"])):  # the latter's files are those of the first
        with pytest.raises(RunConflict, match="was changed meanwhile by another command; repeat the command"):
            save_index(place, change)
        assert set(tmp_path.iterdir()) == files
    assert (load_index(place).record, [item.item_id for item in load_index(place).items]) == (first, ["b", "c"])


def test_another_model_is_refused(data: Manifest) -> None:
    other = joint("b")
    with pytest.raises(DatasetError, match="their vectors cannot be compared"):
        extended(joint("a"), replace(other, record=replace(other.record, model_fingerprint="x" * 64)), data)


def test_the_command_adds_deletes_and_reads_embeddings(data: Manifest, tmp_path: Path) -> None:
    checkpoint = capsule_checkpoint(tmp_path / "c", data)
    embed(EmbedFlags(checkpoint, data.uri, str(tmp_path / "e"), workers=0))
    computed = index(IndexFlags(checkpoint, data.uri, str(tmp_path / "computed")))
    read = index(IndexFlags(out=str(tmp_path / "read"), embeddings=str(tmp_path / "e")))
    assert read == computed  # and so are the files, which are named by their content
    place = locate(str(tmp_path / "read"))
    first = load_index(place)
    assert index(IndexFlags(out=place.uri, delete=(first.items[0].item_id,))).revision == 2
    _assert_same(load_index(place), without(first, [first.items[0].item_id]))
    with pytest.raises(ConfigError, match="give a checkpoint and --data URI, or --embeddings"):
        index(IndexFlags(out=place.uri))
    with pytest.raises(ConfigError, match="--delete takes --out alone"):
        index(IndexFlags(checkpoint, out=place.uri, delete=("a",)))


def test_the_command_adds_a_data_set_that_grew(tmp_path: Path) -> None:
    first, second = toy_dataset(tmp_path / "a")[0], toy_dataset(tmp_path / "b")[0]
    words = WordTable.load(first)
    checkpoint = capsule_checkpoint(tmp_path / "c", first)
    out = str(tmp_path / "i")
    before = index(IndexFlags(checkpoint, first.uri, out))
    shutil.rmtree(tmp_path / "a")
    (grown,) = written(Toy((3, 1, 4, 2, 5, 2)), tmp_path / "a", IngestOptions(), words)
    added = index(IndexFlags(checkpoint, grown.uri, out, add=True))
    assert (added.num_items, added.data) == (before.num_items + 2, grown.uri)
    assert added.data_fingerprint == grown.fingerprint
    assert index(IndexFlags(checkpoint, second.uri, out, add=True)).data == f"{grown.uri} + {second.uri}"
    assert index(IndexFlags(checkpoint, grown.uri, out, add=True)).data == f"{second.uri} + {grown.uri}"


def test_an_index_in_shards_finds_what_one_of_a_single_shard_finds(
    data: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vtr_core.retrieval.embed.embedding_job.SHARD_ROWS", 2)
    checkpoint = capsule_checkpoint(tmp_path / "c", data)
    embed(EmbedFlags(checkpoint, data.uri, str(tmp_path / "e"), workers=0))
    whole = index(IndexFlags(checkpoint, data.uri, str(tmp_path / "whole")))
    computed = index(IndexFlags(checkpoint, data.uri, str(tmp_path / "computed"), shards=2))
    read = index(IndexFlags(out=str(tmp_path / "read"), embeddings=str(tmp_path / "e"), shards=2))
    assert (len(whole.shards), len(computed.shards), read.num_items) == (1, 2, whole.num_items)
    loaded, asked = load_model(checkpoint), ["video number1", "xylophone", "caption number2 of video number0"]
    one, *others = (
        searcher(load_index(locate(str(tmp_path / name))), loaded, SearchOptions())
        for name in ("whole", "computed", "read")
    )
    among = np.arange(1, whole.num_items, 2)
    for chosen, other in product((None, among), others):
        for expected, hits in zip(one.search(asked, 5, chosen), other.search(asked, 5, chosen), strict=True):
            assert (expected is None) == (hits is None)
            found = [(hit.item_id, hit.rank) for hit in hits or ()]
            assert found == [(hit.item_id, hit.rank) for hit in expected or ()]
            scores = [hit.score for hit in expected or ()]
            assert [hit.score for hit in hits or ()] == pytest.approx(scores, abs=1e-5)
    with pytest.raises(ConfigError, match=r"--shards is 999; .* can be divided into 1 to \d+"):
        index(IndexFlags(checkpoint, data.uri, str(tmp_path / "none"), shards=999))


def test_what_cannot_be_divided_or_has_no_inner_product_is_refused(data: Manifest, tmp_path: Path) -> None:
    optional("faiss", "faiss")
    videos = toy_videos(tmp_path / "videos")
    with pytest.raises(ConfigError, match="scaled over all items; leave out --shards"):
        index(IndexFlags(dual_checkpoint(tmp_path / "d", videos), videos.uri, str(tmp_path / "i"), shards=2))
    with pytest.raises(ConfigError, match="--backend ivf-pq finds candidates by cosine, the model compares by dot"):
        index(IndexFlags(capsule_checkpoint(tmp_path / "c", data), data.uri, str(tmp_path / "i"), backend="ivf-pq"))
