from dataclasses import replace

import numpy as np
import pytest
import torch

from pipelines.systems.dual.analysed_set import analysed_set, figures_by_space, fused
from vtr_core.analysis.transforms import Transform
from vtr_core.embedding.video_ranking import Scoring
from vtr_core.errors import CheckpointError, DatasetError
from vtr_core.systems.dual.dual_embeddings import DualRows, only_space
from vtr_core.systems.dual.evaluation import evaluate_dual


def rows(
    text_present=(True, True, False, True, True), video_present=(True, False, True), concepts: int | None = 4
) -> DualRows:
    """Five captions of three videos; every value tells its row."""

    def side(count: int, dim: int) -> np.ndarray:
        return np.arange(1, count + 1, dtype=np.float32)[:, None] + np.arange(dim, dtype=np.float32)

    dims = {"latent": 2} if concepts is None else {"latent": 2, "concept": concepts}

    return DualRows(
        text={name: side(5, dim) for name, dim in dims.items()},
        video={name: side(3, dim) for name, dim in dims.items()},
        caption_video=np.array([0, 1, 0, 2, 2]),
        captions=tuple("abcde"),
        video_id=("x", "y", "z"),
        video_key=np.array([30, 10, 20]),
        caption_key=np.array([5, 6, 7, 8, 9]),
        text_present=np.array(text_present),
        video_present=np.array(video_present),
        concepts=(),
    )


def test_what_cannot_be_seen_is_counted():
    found = analysed_set("toy", rows())
    assert found.text["latent"][:, 0].tolist() == [1, 4, 5]
    assert found.video["latent"][:, 0].tolist() == [1, 3]
    assert found.caption_video.tolist() == [0, 1, 1]
    assert found.video_key.tolist() == [30, 20]
    assert found.left_out == 3
    assert torch.equal(found.concept_space("cosine").text, found.text["concept"])


def test_few_captions_stay_with_their_videos():
    few = analysed_set("toy", rows()).few_captions(1, seed=0)
    assert few.caption_video.tolist() == [0, 1]
    assert few.text["latent"][:, 0].tolist() == (few.rows.caption_key - 4).tolist()
    assert len(few.text["concept"]) == 2


def test_captions_that_either_of_two_models_does_not_know_have_no_score():
    first, second = rows(), rows(text_present=(True, True, True, False, True))
    both = fused(first, second)
    assert both.text_present.tolist() == [True, True, False, False, True]
    assert list(both.text) == ["latent", "concept"]
    with pytest.raises(DatasetError, match="not evaluated on the same"):
        fused(first, replace(second, video_id=("x", "y", "w")))
    with pytest.raises(CheckpointError, match="latent ones"):
        fused(first, only_space(second, "concept"))


def test_figures_are_those_of_evaluation_with_its_failures():
    data, policy = analysed_set("toy", rows()), Scoring("hybrid", Transform("jaccard"))
    evaluated = {of_space.space: of_space.directions for of_space in evaluate_dual(data.rows, policy)}
    found = figures_by_space(data.rows, policy)
    assert list(found) == ["two spaces", "latent", "concept"]
    for name, space in (("two spaces", "hybrid"), ("latent", "latent"), ("concept", "concept")):
        there, back = (direction.metrics for direction in evaluated[space])
        assert there.num_queries == 5
        assert found[name]["t2v_r1"] == pytest.approx(100 * there.recall[1])
        assert found[name]["map"] == pytest.approx(50 * (there.mean_average_precision + back.mean_average_precision))


def test_nothing_to_analyse_and_no_concepts_are_errors():
    with pytest.raises(DatasetError, match="nothing to analyse"):
        analysed_set("toy", rows(text_present=(False,) * 5))
    with pytest.raises(CheckpointError, match="without a concept space"):
        analysed_set("toy", rows(concepts=None)).concept_space("jaccard")
