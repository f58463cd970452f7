import pytest

from vtr_core.config.override import override
from vtr_core.errors import CheckpointError
from vtr_core.run.presets import preset
from vtr_core.systems.dual.analyze.complementarity.couplings import way_of_training


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
