"""Embedded rows become queries and items: clips once, captions each, missing modalities never."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.builders.toy import toy_dataset
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.shards.word_table import WordTable
from vtr_core.embedding.embedded_rows import EmbeddedRows, check_features, embed, embed_captions
from vtr_core.embedding.rankings import (
    Direction,
    Protocol,
    evaluate_retrieval,
    metric_values,
    rankings,
    with_audio_alone,
)
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.fingerprint import key64
from vtr_core.run.build import build_model
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.similarity import SimilarityKind
from vtr_core.text.tokens.vocabulary import Vocabulary


def by_name(directions: list[Direction]) -> dict[str, Direction]:
    return {direction.name: direction for direction in directions}


def rows_of(video: list[list[float]], text: list[list[float]], clips: list[int], **audio: object) -> EmbeddedRows:
    vectors = {"text": np.array(text, np.float32), "video": np.array(video, np.float32)}
    present = {name: np.ones(len(clips), bool) for name in vectors}
    if audio:
        vectors["audio"] = np.array(audio["vectors"], np.float32)
        present["audio"] = np.array(audio["present"], bool)
    return EmbeddedRows(vectors, present, np.array(clips, np.int64), np.array(clips, np.int64) // 10)


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


def test_clips_without_audio_may_count_as_failures() -> None:
    audio = {"vectors": [[0, 9], [0, 0]], "present": [True, False]}
    rows = rows_of([[1, 0], [0, 1]], [[0, 1], [0, 1]], [1, 2], **audio)
    t2va = by_name(evaluate_retrieval(with_audio_alone(rows), "dot"))["t2va"]
    assert (t2va.metrics.num_queries, t2va.metrics.num_items, t2va.metrics.recall[10]) == (2, 1, 0.5)
    with pytest.raises(ConfigError, match="no clip here has any"):
        with_audio_alone(rows_of([[1, 0]], [[0, 1]], [1]))
    heard_alone = replace(rows, present={**rows.present, "video": np.zeros(2, bool)})
    with pytest.raises(ConfigError, match="beside video"):
        with_audio_alone(heard_alone)


@pytest.mark.parametrize("similarity", ["dot", "cosine", "neg_euclidean"])
def test_a_clip_with_audio_has_no_advantage(similarity: SimilarityKind) -> None:
    """Clips with the same video and the caption's audio, or none, are as near as their modalities are on average."""
    audio = {"vectors": [[3, 1, 0], [0, 0, 0]], "present": [True, False]}
    rows = rows_of([[2, 1, 0], [2, 1, 0]], [[3, 2, 1], [3, 2, 1]], [1, 2], **audio)
    for name in ("t2va", "va2t"):
        ranking = next(r for r in rankings(rows) if r.name == name)
        found = ranking.scores(similarity)(slice(0, 2), slice(0, 2))
        seen, heard = (_slowly(similarity, [3, 2, 1], other) for other in ([2, 1, 0], [3, 1, 0]))
        by_clip = found.T if name == "va2t" else found
        np.testing.assert_allclose(by_clip, [[(seen + heard) / 2, seen]] * 2, rtol=1e-6)


def _slowly(similarity: SimilarityKind, a: list[float], b: list[float]) -> float:
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    if similarity == "neg_euclidean":
        return -(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5)
    return dot if similarity == "dot" else dot / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5


def test_a_caption_whose_clip_has_no_video_stays_a_failure() -> None:
    rows = rows_of([[1, 0], [0, 0]], [[1, 0], [0, 1]], [1, 2])
    rows.present["video"][1] = False
    t2v = by_name(evaluate_retrieval(rows, "dot"))["t2v"].metrics
    assert (t2v.num_queries, t2v.num_items) == (2, 1)
    assert t2v.recall[1] == 0.5


def test_a_caption_without_a_known_word_stays_a_failure() -> None:
    """Its vector is 0, which ties with everything; half a hit by chance would be a hit for nothing."""
    rows = rows_of([[1, 0], [0, 1]], [[1, 0], [0, 0]], [1, 2])
    rows.present["text"][1] = False
    found = by_name(evaluate_retrieval(rows, "dot"))
    t2v = found["t2v"]
    assert (t2v.metrics.num_queries, t2v.num_unanswerable) == (2, 1)
    assert t2v.metrics.recall == {1: 0.5, 5: 0.5, 10: 0.5}
    assert (found["v2t"].metrics.num_queries, found["v2t"].metrics.num_items) == (1, 1)


def test_audio_alone_is_searched_by_text() -> None:
    """A model of audio alone has metrics, too: by default none of them is called val/t2v."""
    audio = {"vectors": [[1, 0], [0, 1]], "present": [True, True]}
    rows = rows_of([[0, 0], [0, 0]], [[1, 0], [0, 1]], [1, 2], **audio)
    rows.present["video"][:] = False
    values = metric_values(evaluate_retrieval(rows, "dot"), "val")
    assert values["val/t2a/sum_r"] == 600.0
    assert {name.split("/")[1] for name in values} == {"t2a", "a2t"}


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
    table = next(module for module in model.modules() if isinstance(module, torch.nn.Embedding)).weight.data
    before = embed(model, features, toy, own, row_groups(toy), 100)
    table[1:] = table[1:].flip(0)
    after = embed(model, features, toy, reordered, row_groups(toy), 100)
    np.testing.assert_allclose(after.vectors["text"], before.vectors["text"], atol=1e-6)


def test_features_that_a_data_set_lacks_are_absent(toy: Manifest) -> None:
    model, features = model_of(toy)
    rows = embed(model, features, toy, WordTable.load(toy).vocabulary, [], 100)
    assert len(rows.clip_key) == 0
    assert rows.vectors["video"].shape == (0, 4)


def test_captions_alone_have_the_vectors_of_their_rows(toy: Manifest) -> None:
    model, features = model_of(toy)
    words = WordTable.load(toy).vocabulary
    rows = embed(model, features, toy, words, row_groups(toy), 100)
    vectors, known = embed_captions(model, features, words, ["video number3", "...", "video number3"], 20, max_rows=2)
    assert known.tolist() == [True, False, True]
    assert not vectors[1].any()
    at = rows.clip_key.tolist().index(key64("v3:0"))
    np.testing.assert_allclose(vectors[2], rows.vectors["text"][at], atol=1e-6)
    nothing, _ = embed_captions(model, features, words, [], 20, max_rows=2)
    assert nothing.shape == (0, 4)


def test_unsuitable_features_are_named(toy: Manifest) -> None:
    with pytest.raises(DatasetError, match="column video has 3 dimensions, the model was trained on 5"):
        check_features(toy, {"video": 5})
    with pytest.raises(DatasetError, match="none of the model's features depth"):
        check_features(toy, {"depth": 5})


def test_the_papers_protocol_trains_with_dot_products_and_judges_by_the_euclidean_distance() -> None:
    config = preset("capsule-howto-published")
    assert Protocol.of(config, config.evaluation.similarity) == Protocol("dot", "neg_euclidean", "neg_euclidean")
