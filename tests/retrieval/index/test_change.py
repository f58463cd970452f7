"""An index that was added to or deleted from is the one that would have been built of the same items."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipelines.embed.command import EmbedFlags, embed
from pipelines.index.command import IndexFlags, index
from tests.builders.dual_checkpoints import capsule_checkpoint
from tests.builders.toy import toy_dataset
from tests.optional import optional
from vtr_core.data.manifest import Manifest
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.retrieval.index.change import extended, searched, without
from vtr_core.retrieval.index.faiss import Graph, build_graph
from vtr_core.retrieval.index.index import IndexRecord, VideoIndex, load_index
from vtr_core.retrieval.index.items import Item
from vtr_core.storage import locate


def joint(names: str, modalities: tuple[str, ...] = ("audio", "video"), backend: str = "exact") -> VideoIndex:
    """Clips named by letters, two of each video; the vector of a clip is a function of its name and modality."""
    tensors: dict[str, np.ndarray] = {}
    for place, name in enumerate(modalities):
        rows = [np.random.default_rng([ord(clip), len(name)]).normal(size=3) for clip in names]
        tensors[name] = np.array(rows, np.float32)
        tensors[f"has_{name}"] = np.ones(len(names), bool)
        assert place < 2
    record = IndexRecord(
        kind="joint",
        checkpoint="/runs/one",
        model_fingerprint="m" * 64,
        preset="p",
        data="/data/a",
        data_fingerprint="d" * 64,
        num_items=len(names),
        sizes=dict.fromkeys(sorted(modalities), 3),
        similarity="dot",
        latent_weight=0.5,
        backend=backend,  # type: ignore[arg-type]
    )
    items = tuple(Item(clip, f"video{ord(clip) // 2}", 0, 1, f"caption {clip}", {"channel": clip}) for clip in names)
    graph = build_graph(searched(tensors)) if backend == "faiss" else None
    return VideoIndex(record, tensors, items, candidates=graph)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return toy_dataset(tmp_path_factory.mktemp("data"))[0]


def _assert_same(found: VideoIndex, expected: VideoIndex) -> None:
    assert tuple(found.items) == tuple(expected.items)
    assert found.record.num_items == len(expected.items)
    assert found.tensors.keys() == expected.tensors.keys()
    assert all(np.array_equal(found.tensors[name], expected.tensors[name]) for name in expected.tensors)


def test_added_items_follow_and_replace_those_of_the_same_id(data: Manifest) -> None:
    found = extended(joint("abcd"), joint("cef"), data)
    _assert_same(found, joint("abdcef"))
    assert (found.record.data, found.record.data_fingerprint) == (data.uri, data.fingerprint)


def test_a_modality_that_one_part_lacks_is_absent_from_its_items(data: Manifest) -> None:
    found = extended(joint("ab", ("video",)), joint("c"), data)
    assert found.record.sizes == {"audio": 3, "video": 3}
    assert found.tensors["has_audio"].tolist() == [False, False, True]
    assert not found.tensors["audio"][:2].any()
    assert np.array_equal(found.tensors["video"], joint("abc").tensors["video"])


def test_items_and_whole_videos_are_deleted() -> None:
    _assert_same(without(joint("abcd"), ["a"]), joint("bcd"))
    assert joint("abcd").items[1].video_id == joint("abcd").items[2].video_id
    _assert_same(without(joint("abcd"), [joint("b").items[0].video_id]), joint("ad"))
    with pytest.raises(ConfigError, match="--delete x: the index has no such item or video"):
        without(joint("abcd"), ["a", "x"])
    with pytest.raises(ConfigError, match="every item"):
        without(joint("ab"), ["a", "b"])


def test_the_graph_follows(data: Manifest) -> None:
    optional("faiss", "faiss")
    for found in (
        extended(joint("abc", backend="faiss"), joint("de"), data),
        extended(joint("abd", backend="faiss"), joint("de"), data),
        without(joint("abcdex", backend="faiss"), ["x"]),
    ):
        assert found.candidates is not None
        graph, vectors = Graph(found.candidates, len(found.items), 3), searched(found.tensors)
        assert [int(graph.candidates(vector, 1)[0]) for vector in vectors] == list(range(len(found.items)))


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


def test_the_command_adds_another_data_set_of_the_same_words(tmp_path: Path) -> None:
    first, second = toy_dataset(tmp_path / "a")[0], toy_dataset(tmp_path / "b")[0]
    checkpoint = capsule_checkpoint(tmp_path / "c", first)
    out = str(tmp_path / "i")
    whole = index(IndexFlags(checkpoint, first.uri, out))
    added = index(IndexFlags(checkpoint, second.uri, out, add=True))
    assert (added.num_items, added.revision) == (whole.num_items, 2)  # the same ids are replaced
    assert added.data_fingerprint == Manifest.load(added.data).fingerprint
