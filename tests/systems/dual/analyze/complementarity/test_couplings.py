import pytest

from vtr_core.config.domains import Choice
from vtr_core.config.override import override
from vtr_core.errors import CheckpointError
from vtr_core.run.presets import preset
from vtr_core.systems.dual.analyze.complementarity.couplings import way_of_training
from vtr_core.systems.dual.analyze.complementarity.findings import Findings, Run
from vtr_core.systems.dual.space import SPACES


@pytest.mark.parametrize(
    ("changes", "coupling", "name"),
    [
        ({"model.num_concepts": None}, "latent", "latent 8"),
        ({"model.latent_dim": None}, "concept", "concept 6"),
        ({}, "coupled heterogeneous + concept", "latent 8 + concept 6, coupled heterogeneous"),
        (
            {"model.concept_similarity": "cosine"},
            "coupled homogeneous + concept",
            "latent 8 + concept 6, coupled homogeneous",
        ),
        ({"loss.concept_weight": 0.0}, "coupled heterogeneous", "latent 8 + latent 6, coupled heterogeneous"),
        (
            {"loss.concept_weight": 0.0, "model.concept_similarity": "cosine"},
            "coupled homogeneous",
            "latent 8 + latent 6, coupled homogeneous",
        ),
    ],
)
def test_ways_of_training(changes, coupling, name):
    sizes = {"model.latent_dim": 8, "model.num_concepts": 6}
    way = way_of_training(override(preset("hybrid-msrvtt-tiny"), {**sizes, **changes}))
    assert (way.coupling, way.name) == (coupling, name)


def test_another_model_is_refused():
    with pytest.raises(CheckpointError, match="hybrid_encoder"):
        way_of_training(preset("capsule-howto-tiny"))


def test_a_dimension_study_has_the_first_ranks_of_both_directions() -> None:
    def run(dim: int, value: float) -> Run:
        figures = {name: value + place for place, name in enumerate(("map", "sum_r", "t2v_r1", "v2t_r1"))}
        return Run(f"latent {dim}", "latent", (dim, None), ("c",), {"latent": figures}, None, [])

    (study,) = Findings("d", [run(16, 1.0), run(32, 5.0), run(64, 3.0)]).dimension_studies()
    assert (study.dims, study.t2v_r1, study.v2t_r1) == ((16, 32, 64), (3.0, 7.0, 5.0), (4.0, 8.0, 6.0))
    assert study.stable.low == study.stable.high == 32


def test_the_thesis_grid_has_ten_values_an_octave() -> None:
    (choice,) = (parameter.domain for parameter in SPACES["latent-octaves"]().parameters.values())
    assert isinstance(choice, Choice)
    assert (choice.values[0], choice.values[10], choice.values[-1]) == (16, 32, 65_536)
    assert len(set(choice.values)) == 121
