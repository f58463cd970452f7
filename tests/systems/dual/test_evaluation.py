"""A dual encoder's figures: blocks equal whole matrices, both directions, failures, and the rows they come from."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.builders.toy import toy_dataset, toy_videos
from tests.reference import dual as reference
from vtr_core.analysis.transforms import Transform
from vtr_core.config.data_sets import ConceptSimilarity
from vtr_core.config.override import override
from vtr_core.config.run import Normalisation
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.shards.word_table import WordTable
from vtr_core.embedding.video_ranking import Scoring
from vtr_core.errors import CheckpointError, ConfigError, DatasetError, SchemaMismatch
from vtr_core.metrics.ranking import retrieval_metrics
from vtr_core.run.build import build_model
from vtr_core.run.config import TrainConfig
from vtr_core.run.inputs import usable_data, with_inputs
from vtr_core.run.presets import preset
from vtr_core.similarity import hybrid
from vtr_core.systems.all import SYSTEMS
from vtr_core.systems.dual import hybrid_scores as tiles
from vtr_core.systems.dual.dual_embeddings import (
    DualRows,
    concatenate_dual,
    embed_dual,
    embed_dual_rows,
    encode_texts,
)
from vtr_core.systems.dual.evaluation import dual_metric_values, evaluate_dual, mean_precision
from vtr_core.systems.dual.hybrid_scores import whole_scores
from vtr_core.systems.dual.model import HybridEncoder
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.checkpoint_files import Progress
from vtr_core.train.checkpoint.trained_model import LoadedModel

CAPTIONS, VIDEOS = 11, 5


def _rows(no_text: tuple[int, ...] = (), no_video: tuple[int, ...] = ()) -> DualRows:
    random = np.random.default_rng(0)
    text_present = np.array([row not in no_text for row in range(CAPTIONS)])
    video_present = np.array([row not in no_video for row in range(VIDEOS)])

    def drawn(rows: int, dim: int, present: np.ndarray) -> np.ndarray:
        return np.where(present[:, None], random.normal(size=(rows, dim)), 0).astype(np.float32)

    return DualRows(
        text={"latent": drawn(CAPTIONS, 4, text_present), "concept": drawn(CAPTIONS, 6, text_present)},
        video={"latent": drawn(VIDEOS, 4, video_present), "concept": drawn(VIDEOS, 6, video_present)},
        caption_video=np.arange(CAPTIONS, dtype=np.int64) * VIDEOS // CAPTIONS,
        captions=tuple(f"caption {row}" for row in range(CAPTIONS)),
        video_id=tuple(f"v{row}" for row in range(VIDEOS)),
        video_key=np.arange(VIDEOS, dtype=np.int64),
        caption_key=np.arange(CAPTIONS, dtype=np.int64),
        text_present=text_present,
        video_present=video_present,
    )


RANGES = torch.tensor([[-0.5, 0.75], [0.3, 0.8]])


def scoring(
    similarity: ConceptSimilarity = "jaccard", weight: float = 0.6, normalise: Normalisation = "query"
) -> Scoring:
    return Scoring("hybrid", Transform(similarity), weight, normalise, RANGES)


def _matrix(a: np.ndarray, b: np.ndarray, similarity: str) -> torch.Tensor:
    if similarity == "cosine":
        return torch.tensor([[reference.cosine(x, y) for y in b.tolist()] for x in a.tolist()])
    a, b = 1 / (1 + np.exp(-a)), 1 / (1 + np.exp(-b))
    return torch.tensor([[reference.jaccard(x, y) for y in b.tolist()] for x in a.tolist()])


@pytest.mark.parametrize("held", [0, 2**28])
@pytest.mark.parametrize("normalise", ["matrix", "query", "train"])
@pytest.mark.parametrize("similarity", ["jaccard", "cosine"])
def test_figures_equal_those_of_whole_matrices(
    similarity: str, normalise: str, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiles, "HELD", held)
    monkeypatch.setattr(tiles, "CAPTION_CHUNK", 4)
    monkeypatch.setattr(tiles, "VIDEO_CHUNK", 3)
    rows = _rows()
    latent = _matrix(rows.text["latent"], rows.video["latent"], "cosine")
    concept = _matrix(rows.text["concept"], rows.video["concept"], similarity)
    relevant = torch.from_numpy(rows.caption_video).unsqueeze(1) == torch.arange(VIDEOS)
    figures = evaluate_dual(rows, scoring(similarity, 0.7, normalise))  # type: ignore[arg-type]
    assert [one.space for one in figures] == ["hybrid", "latent", "concept"]
    expected = {
        "hybrid": [hybrid(a, b, 0.7, normalise, RANGES) for a, b in ((latent, concept), (latent.T, concept.T))],  # type: ignore[arg-type]
        "latent": [latent, latent.T],
        "concept": [concept, concept.T],
    }
    for one in figures:
        there, back = expected[one.space]
        assert [direction.name for direction in one.directions] == ["t2v", "v2t"]
        assert one.directions[0].metrics == retrieval_metrics(there.numpy(), relevant.numpy())
        assert one.directions[1].metrics == retrieval_metrics(back.numpy(), relevant.T.numpy())


def test_tiles_equal_the_whole_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _rows(no_text=(2,), no_video=(4,))
    whole = whole_scores(rows, scoring(normalise="matrix"))
    assert list(whole) == ["hybrid", "latent", "concept"]
    kept = np.ix_(rows.text_present, rows.video_present)
    parts = [torch.from_numpy(whole[space][kept]) for space in ("latent", "concept")]
    np.testing.assert_allclose(whole["hybrid"][kept], hybrid(*parts), atol=1e-6)  # what is missing shifts no range
    monkeypatch.setattr(tiles, "CAPTION_CHUNK", 3)
    monkeypatch.setattr(tiles, "VIDEO_CHUNK", 2)
    assert (whole["hybrid"][2] == -np.inf).all()
    assert (whole["concept"][:, 4] == -np.inf).all()
    for space, scores in whole_scores(rows, scoring(normalise="matrix")).items():
        np.testing.assert_allclose(scores, whole[space], atol=1e-6)


def test_what_is_missing_counts_as_a_failure_and_is_no_item() -> None:
    """Captions 0 to 2 are of video 0, captions 9 and 10 of video 4."""
    found = evaluate_dual(_rows(no_text=(2, 9, 10), no_video=(0,)), scoring())[0].directions
    t2v, v2t = found
    assert (t2v.metrics.num_queries, t2v.metrics.num_items) == (CAPTIONS, VIDEOS - 1)
    assert t2v.num_unanswerable == 3 + 2
    assert t2v.metrics.recall[10] == pytest.approx((CAPTIONS - 5) / CAPTIONS)
    assert (v2t.metrics.num_queries, v2t.metrics.num_items) == (VIDEOS - 2, CAPTIONS - 3)
    assert v2t.metrics.recall[10] == 1.0


def test_one_space_alone_has_the_plain_names() -> None:
    rows = _rows()
    rows = replace(rows, text={"concept": rows.text["concept"]}, video={"concept": rows.video["concept"]})
    figures = evaluate_dual(rows, scoring())
    assert [one.space for one in figures] == ["concept"]
    assert {"val/t2v/r1", "val/v2t/map", "val/t2v/sum_r"} <= dual_metric_values(figures, "val").keys()
    names = dual_metric_values(evaluate_dual(_rows(), scoring()), "test/x")
    assert {"test/x/t2v/sum_r", "test/x/latent/t2v/r1", "test/x/concept/v2t/medr"} <= names.keys()


def test_training_ranges_must_have_been_seen() -> None:
    with pytest.raises(ConfigError, match="keeps no ranges of training scores"):
        replace(scoring(normalise="train"), ranges=torch.zeros(2, 2))


def test_the_mean_precision_is_that_of_the_figures() -> None:
    rows = _rows(no_text=(2,), no_video=(4,))
    for of_space in evaluate_dual(rows, scoring()):
        expected = np.mean([way.metrics.mean_average_precision for way in of_space.directions])
        policy = replace(scoring(), space=of_space.space)  # type: ignore[arg-type]
        assert mean_precision(rows, policy) == pytest.approx(expected, rel=1e-12)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return toy_videos(tmp_path_factory.mktemp("toy"))


def _config(data: Manifest, **changes: object) -> TrainConfig:
    small = {"model.latent_dim": 6, "model.num_concepts": 4, "evaluation.batch_rows": 3}
    return with_inputs(override(preset("hybrid-msrvtt-tiny"), {**small, **changes}), data)


def _loaded(data: Manifest, vocabulary: Vocabulary | None = None) -> LoadedModel:
    torch.manual_seed(0)
    config = _config(data)
    words = vocabulary or WordTable.load(data).vocabulary
    config = override(config, {"model.inputs.num_words": len(words)})
    return LoadedModel(build_model(config.model), config, words, {}, Progress(), "x", SYSTEMS, tuple("abcd"))


def test_every_video_and_caption_is_embedded_once_in_file_order(toy: Manifest) -> None:
    """Video v of the toy has v + 1 captions, and the one of index 3 has no frames."""
    loaded = _loaded(toy)
    rows = embed_dual(loaded, toy)
    assert loaded.model.training
    order = [int(name[1:]) for name in rows.video_id]
    assert sorted(order) == [0, 1, 2, 3, 4]
    counts = np.bincount(rows.caption_video, minlength=5).tolist()
    assert counts == [v + 1 for v in order]
    assert all(
        text.endswith(f"number{order[video]}") for text, video in zip(rows.captions, rows.caption_video, strict=True)
    )
    assert rows.video_present.tolist() == [v != 3 for v in order]
    assert rows.text_present.all()
    assert rows.concepts == tuple("abcd")
    assert (rows.video["latent"].shape, rows.text["concept"].shape) == ((5, 6), (15, 4))
    assert (rows.video["latent"][order.index(3)] == 0).all()
    evaluate_dual(rows, scoring())


def test_shares_of_the_row_groups_are_the_whole(toy: Manifest) -> None:
    loaded = _loaded(toy)
    assert isinstance(loaded.model, HybridEncoder)
    whole, groups = embed_dual(loaded, toy), row_groups(toy)
    parts = [
        embed_dual_rows(loaded.model, loaded.config, toy, loaded.vocabulary, places)
        for places in (groups[:1], groups[1:], [])
    ]
    together = concatenate_dual(parts)
    assert together.video_id == whole.video_id
    assert together.caption_video.tolist() == whole.caption_video.tolist()
    np.testing.assert_allclose(together.text["latent"], whole.text["latent"], atol=1e-6)


def test_captions_of_another_vocabulary_are_encoded_anew(toy: Manifest) -> None:
    words = WordTable.load(toy).vocabulary
    other = Vocabulary(tuple(reversed(words.words)))
    loaded, rows = _loaded(toy, other), embed_dual(_loaded(toy, other), toy)
    found = encode_texts(loaded, rows.captions)
    np.testing.assert_allclose(found.vectors["latent"], rows.text["latent"], atol=1e-6)
    np.testing.assert_allclose(found.vectors["concept"], rows.text["concept"], atol=1e-6)


def test_captions_without_a_known_word_and_no_captions(toy: Manifest) -> None:
    loaded = _loaded(toy)
    found = encode_texts(loaded, ["video", "xyzzy", ""])
    assert found.known.tolist() == [True, False, False]
    assert (found.vectors["latent"][1:] == 0).all()
    assert encode_texts(loaded, []).known.shape == (0,)


def test_models_and_data_that_do_not_fit_are_errors(toy: Manifest, tmp_path: Path) -> None:
    clips = toy_dataset(tmp_path / "clips")[0]
    with pytest.raises(SchemaMismatch):
        usable_data(_config(toy).model, clips.uri)
    with pytest.raises(SchemaMismatch):
        usable_data(preset("capsule-howto-tiny").model, toy.uri)
    loaded = _loaded(toy)
    inputs = {**loaded.config.model.inputs.model_dump(), "features": {"video": 8}}
    wider = override(loaded.config, {"model.inputs": inputs})
    with pytest.raises(
        DatasetError, match=r"has the features video \(3\), audio \(2\); the model was trained on video \(8\)"
    ):
        embed_dual(replace(loaded, config=wider, model=build_model(wider.model)), toy)
    with pytest.raises(CheckpointError, match="'hybrid_encoder', such as"):
        embed_dual(replace(loaded, model=torch.nn.Linear(1, 1)), toy)
