"""What is analysed of a dual encoder's rows, and the ways of training that are compared."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pipelines.systems.dual.analysed_set import analysed_set, figures_by_space, fused
from pipelines.systems.dual.complementarity_analysis import STUDIED, compared, names_of, studies_of, way_of_training
from pipelines.systems.registry import SYSTEMS
from tune_spaces.spaces import build_space
from vtr_core.analysis.transforms import Transform
from vtr_core.config.override import override
from vtr_core.config.search_space import Choice
from vtr_core.embedding.video_ranking import Scoring
from vtr_core.errors import CheckpointError, DatasetError
from vtr_core.run.presets import preset
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


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({"model.num_concepts": None}, "latent 8"),
        ({"model.latent_dim": None}, "concept 6"),
        ({}, "latent 8 + concept 6, coupled heterogeneous"),
        ({"model.concept_similarity": "cosine"}, "latent 8 + concept 6, coupled homogeneous"),
        ({"loss.concept_weight": 0.0}, "latent 8 + latent 6, coupled heterogeneous"),
        (
            {"loss.concept_weight": 0.0, "model.concept_similarity": "cosine"},
            "latent 8 + latent 6, coupled homogeneous",
        ),
    ],
)
def test_ways_of_training(changes, title):
    sizes = {"model.latent_dim": 8, "model.num_concepts": 6}
    assert way_of_training(override(preset("hybrid-msrvtt-tiny"), {**sizes, **changes})).title == title


def _way(changes, **origin):
    return way_of_training(override(preset("hybrid-msrvtt-tiny"), changes), origin)


def test_trainings_of_one_way_differ_in_nothing_but_the_seed():
    usual = _way({})
    assert _way({"seed": 5, "scaling.workers": 0, "preset": "another-name"}) == usual
    others = [{"loss.labels": "binary"}, {"loss.ranks_concepts": False}, {"model.feature": "clip"}]
    others += [{"optimizer.learning_rate": 0.01}, {"captions.tagged": True}, {"evaluation.latent_weight": 0.5}]
    assert len({usual, *(_way(one) for one in others), _way({}, data="a"), _way({}, data="b")}) == 9


def test_ways_with_the_same_spaces_are_named_by_what_differs():
    usual, binary, alone = _way({}), _way({"loss.labels": "binary"}), _way({"model.latent_dim": None})
    assert list(names_of([usual, binary, alone, usual]).values()) == [
        "latent 128 + concept 32, coupled heterogeneous [loss.labels soft]",
        "latent 128 + concept 32, coupled heterogeneous [loss.labels binary]",
        "concept 32",
    ]
    many = {"loss.margin": 0.1, "optimizer.learning_rate": 0.1, "model.dropout": 0.1, "optimizer.gradient_clip": 1.0}
    other = {**many, "optimizer.gradient_clip": 3.0}
    named = list(names_of([usual, _way(many), _way(other)]).values())
    assert named[1].endswith(
        "[loss.margin 0.1, model.dropout 0.1, optimizer.gradient_clip 1.0, optimizer.learning_rate 0.1]"
    )
    assert len(set(named)) == 3


def test_a_dimension_study_is_of_trainings_that_differ_in_dimension_and_seed_alone():
    def latent(dim, **changes):
        return _way({"model.num_concepts": None, "model.latent_dim": dim, **changes})

    usual, other = [latent(dim) for dim in (2, 4)], latent(4, **{"loss.margin": 0.1})
    assert list(studies_of([*usual, other]).values()) == [
        "latent [loss.margin 0.2]",
        "latent [loss.margin 0.2]",
        "latent [loss.margin 0.1]",
    ]
    assert set(studies_of(usual).values()) == {"latent"}


def test_another_model_is_refused():
    with pytest.raises(CheckpointError, match="hybrid_encoder"):
        way_of_training(preset("capsule-howto-tiny"))


def test_a_dimension_study_has_the_first_ranks_of_both_directions() -> None:
    def run(dim: int, value: float, study: str = "latent") -> dict[str, Any]:
        figures = {name: value + place for place, name in enumerate(STUDIED)}
        return {"way": f"latent {dim}", "study": study, "dims": [dim, None], "figures": {"latent": figures}}

    others = [run(16, 9.0, "latent [loss.margin 0.1]"), run(64, 9.0, "latent [loss.margin 0.1]")]
    (study,) = compared([run(16, 1.0), run(32, 5.0), *others, run(64, 3.0)])["dimension_studies"]
    assert (study["dims"], study["t2v_r1"], study["v2t_r1"]) == ([16, 32, 64], [5.0, 9.0, 7.0], [6.0, 10.0, 8.0])
    assert study["stable"] == [32, 32]


def test_the_thesis_grid_has_ten_values_an_octave() -> None:
    (choice,) = (parameter.domain for parameter in build_space("latent-octaves", SYSTEMS).parameters.values())
    assert isinstance(choice, Choice)
    assert (choice.values[0], choice.values[10], choice.values[-1]) == (16, 32, 65_536)
    assert len(set(choice.values)) == 121
