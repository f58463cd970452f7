"""Embedded rows become queries and items: clips once, captions each, missing modalities never."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.toy import toy_dataset
from vtr_core.config.override import override
from vtr_core.config.presets import preset
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.word_table import WordTable
from vtr_core.errors import DatasetError
from vtr_core.models.build import build_model
from vtr_core.retrieval.embed import EmbeddedRows, check_features, embed
from vtr_core.retrieval.evaluation import Direction, evaluate_retrieval, metric_values
from vtr_core.text.vocabulary import Vocabulary
from vtr_core.train.inputs import with_inputs


def by_name(directions: list[Direction]) -> dict[str, Direction]:
    return {direction.name: direction for direction in directions}


def rows_of(video: list[list[float]], text: list[list[float]], clips: list[int], **audio: object) -> EmbeddedRows:
    vectors = {"text": np.array(text, np.float32), "video": np.array(video, np.float32)}
    present = {name: np.ones(len(clips), bool) for name in vectors}
    if audio:
        vectors["audio"] = np.array(audio["vectors"], np.float32)
        present["audio"] = np.array(audio["present"], bool)
    return EmbeddedRows(vectors, present, np.array(clips, np.int64))


def test_captions_of_one_clip_share_its_item() -> None:
    """Four captions of two clips: two items, and video → text has two right answers each."""
    rows = rows_of([[1, 0], [1, 0], [0, 1], [0, 1]], [[1, 0], [1, 0], [0, 1], [1, 0]], [7, 7, 9, 9])
    found = by_name(evaluate_retrieval(rows, "dot"))
    t2v, v2t = found["t2v"].metrics, found["v2t"].metrics
    assert (t2v.num_queries, t2v.num_items) == (4, 2)
    assert (v2t.num_queries, v2t.num_items) == (2, 4)
    assert t2v.recall[1] == 0.75
    assert found["t2v"].chance.recall[1] == 0.5


def test_a_clip_without_audio_is_scored_with_video_alone() -> None:
    audio = {"vectors": [[0, 9], [0, 0]], "present": [True, False]}
    rows = rows_of([[1, 0], [0, 1]], [[0, 1], [0, 1]], [1, 2], **audio)
    found = by_name(evaluate_retrieval(rows, "dot"))
    assert found["t2v"].metrics.recall[1] == 0.5  # video alone: both captions find clip 2
    assert found["t2va"].metrics.recall[1] == 0.5  # clip 1's audio now answers both
    assert found["t2va"].metrics.num_items == 2
    assert (found["v2a"].metrics.num_queries, found["v2a"].metrics.num_items) == (1, 1)  # clip 2 has none to find


def test_a_caption_whose_clip_has_no_video_stays_a_failure() -> None:
    rows = rows_of([[1, 0], [0, 0]], [[1, 0], [0, 1]], [1, 2])
    rows.present["video"][1] = False
    t2v = by_name(evaluate_retrieval(rows, "dot"))["t2v"].metrics
    assert (t2v.num_queries, t2v.num_items) == (2, 1)
    assert t2v.recall[1] == 0.5


def test_metric_names_and_sum() -> None:
    rows = rows_of([[1, 0], [0, 1]], [[1, 0], [0, 1]], [1, 2])
    values = metric_values(evaluate_retrieval(rows, "dot"), "val")
    assert values["val/t2v/r1"] == values["val/v2t/r1"] == 100.0
    assert values["val/t2v/sum_r"] == 600.0
    assert values["val/t2v/medr"] == 1.0


@pytest.fixture
def toy(tmp_path: Path) -> Manifest:
    return toy_dataset(tmp_path / "d", clips_of=[2, 3, 1, 4, 2, 2, 5])[0]


def model_of(manifest: Manifest) -> tuple[torch.nn.Module, dict[str, int]]:
    changes = {"model.num_capsules": 2, "model.embedding_dim": 4, "model.words.hidden_dim": 4}
    config = with_inputs(override(preset("capsule-howto-tiny"), changes), manifest)
    torch.manual_seed(0)
    return build_model(config.model), config.model.inputs.features


def test_embedding_does_not_depend_on_the_pieces(toy: Manifest) -> None:
    model, features = model_of(toy)
    words = WordTable.load(toy).vocabulary
    whole = embed(model, features, toy, words, row_groups(toy), max_rows=1000)
    pieces = embed(model, features, toy, words, row_groups(toy), max_rows=2)
    assert len(whole.clip_key) == toy.rows
    for name, vectors in whole.vectors.items():
        np.testing.assert_allclose(pieces.vectors[name], vectors, atol=1e-6)
    assert model.training


def test_another_vocabulary_encodes_captions_anew(toy: Manifest) -> None:
    """Ids of the data set's own vocabulary would mean other words to the model."""
    model, features = model_of(toy)
    own = WordTable.load(toy).vocabulary
    reordered = Vocabulary(tuple(reversed(own.words)))
    table = model.words.vectors.weight.data  # type: ignore[union-attr,operator]
    before = embed(model, features, toy, own, row_groups(toy), 100)
    table[1:] = table[1:].flip(0)  # type: ignore[index,operator]
    after = embed(model, features, toy, reordered, row_groups(toy), 100)
    np.testing.assert_allclose(after.vectors["text"], before.vectors["text"], atol=1e-6)


def test_features_that_a_data_set_lacks_are_absent(toy: Manifest) -> None:
    model, features = model_of(toy)
    rows = embed(model, features, toy, WordTable.load(toy).vocabulary, [], 100)
    assert len(rows.clip_key) == 0
    assert rows.vectors["video"].shape == (0, 4)


def test_unsuitable_features_are_named(toy: Manifest) -> None:
    with pytest.raises(DatasetError, match="column video has 3 dimensions, the model was trained on 5"):
        check_features(toy, {"video": 5})
    with pytest.raises(DatasetError, match="none of the model's features depth"):
        check_features(toy, {"depth": 5})
