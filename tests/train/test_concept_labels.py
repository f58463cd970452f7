"""The concept table of a run, and the names that its checkpoints carry."""

from pathlib import Path

import pytest

from tests.builders.toy import toy_videos
from vtr_core.config.override import override
from vtr_core.data.concepts.concept_table import ConceptCounts, CountedSet, TableHead, save_concept_table
from vtr_core.data.manifest import Manifest
from vtr_core.errors import CheckpointError, DatasetError
from vtr_core.run.build import build_model
from vtr_core.run.config import TrainConfig
from vtr_core.run.inputs import concept_places, concept_table, names_of, require_names, usable_concepts
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.systems.all import SYSTEMS
from vtr_core.text.concepts import ConceptNames
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint import load_model
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress, load_checkpoint, save_checkpoint

NAMES = ("cat", "dog", "run")


@pytest.fixture
def toy(tmp_path: Path) -> Manifest:
    return toy_videos(tmp_path / "toy")


def _config(num_concepts: int | None) -> TrainConfig:
    inputs = {"features": {"video": 3}, "num_words": 2, "word_dim": 4}
    changes = {"model.inputs": inputs, "model.latent_dim": 6, "model.num_concepts": num_concepts}
    return override(preset("hybrid-msrvtt-tiny"), changes)


def _table(uri: str, data: Manifest) -> None:
    counted = CountedSet(data.uri, data.fingerprint, 1, 1, 1)
    head = TableHead("test", "f", ("n",), False, NAMES, (3, 2, 1), (counted,))
    save_concept_table(uri, head, [ConceptCounts.from_kept([7], [{"cat": 1}], NAMES)])


def test_the_table_lies_in_the_folder_or_where_it_is_said_to(toy: Manifest, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=rf"no concept table at .*concepts; make one with vtr concepts {toy.uri}"):
        usable_concepts(_config(3), toy, toy.uri, None)
    assert usable_concepts(_config(None), toy, toy.uri, None) is None
    _table(f"{toy.uri}/concepts", toy)
    assert usable_concepts(_config(3), toy, str(tmp_path), None) == f"{toy.uri}/concepts"
    with pytest.raises(DatasetError, match=r"vtr concepts .* --out .*/other"):
        usable_concepts(_config(3), toy, toy.uri, str(tmp_path / "other"))
    _table(str(tmp_path / "other"), toy)
    assert usable_concepts(_config(3), toy, toy.uri, str(tmp_path / "other")) == locate(str(tmp_path / "other")).uri


def test_the_table_of_all_splits_lies_beside_them(toy: Manifest, tmp_path: Path) -> None:
    _table(str(tmp_path / "concepts"), toy)
    assert usable_concepts(_config(3), toy, toy.uri, None) == f"{tmp_path}/concepts"
    places = [place.uri for place in concept_places(locate("s3://bucket/data/val?region=x"))]
    assert places == ["s3://bucket/data/val/concepts?region=x", "s3://bucket/data/concepts?region=x"]
    assert locate("s3://bucket").parent.uri == "s3://bucket"


def test_it_must_offer_enough_concepts_of_this_data(toy: Manifest, tmp_path: Path) -> None:
    _table(f"{toy.uri}/concepts", toy)
    with pytest.raises(DatasetError, match="offer 3 concepts, fewer than the 4"):
        usable_concepts(_config(4), toy, toy.uri, None)
    other = toy_videos(tmp_path / "more", frames_of=(1, 2))
    with pytest.raises(DatasetError, match="not from"):
        usable_concepts(_config(3), other, toy.uri, None)
    with pytest.raises(DatasetError, match="the run has no concept table"):
        concept_table(_config(3), None)


def _checkpoint(held: tuple[str, ...] | None) -> Checkpoint:
    config = _config(2)
    model = build_model(config.model)
    names = None if held is None else ConceptNames(held, "f")
    return Checkpoint(config, model.state_dict(), {}, Progress(), Vocabulary(("a", "b")), concepts=names)


def test_a_checkpoint_carries_the_names(tmp_path: Path) -> None:
    place = locate(str(tmp_path / "c"))
    save_checkpoint(place, _checkpoint(("cat", "läuft")))
    assert load_model(place.uri).concepts == ("cat", "läuft")
    assert load_checkpoint(place, SYSTEMS).concepts == ConceptNames(("cat", "läuft"), "f")


def test_a_run_goes_on_with_the_labels_it_began_with(toy: Manifest) -> None:
    _table(f"{toy.uri}/concepts", toy)
    config = _config(2)
    table = concept_table(config, f"{toy.uri}/concepts")
    names = names_of(config, table)
    assert names is not None
    assert names.names == NAMES[:2]
    where = locate(toy.uri)
    require_names(names, names, where)
    for other in (None, ConceptNames(("cat", "bird"), names.table), ConceptNames(names.names, "other")):
        with pytest.raises(CheckpointError, match="of another concept table"):
            require_names(other, names, where)


@pytest.mark.parametrize(
    "content", [b"[1]", b"{}", b'{"names": ["a", "a"], "table": "f"}', b'{"names": [1], "table": "f"}']
)
def test_damaged_names_are_an_error(content: bytes) -> None:
    with pytest.raises(DatasetError, match=r"concepts\.json is no list of"):
        ConceptNames.from_json(content)
