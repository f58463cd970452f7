from typing import Any

import pytest

from pipelines.systems.dual.complementarity_analysis import STUDIED, compared, names_of, studies_of, way_of_training
from pipelines.systems.registry import SYSTEMS
from tune_spaces.spaces import build_space
from vtr_core.config.override import override
from vtr_core.config.search_space import Choice
from vtr_core.errors import CheckpointError
from vtr_core.run.presets import preset


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
