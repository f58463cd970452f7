"""Search spaces of the dual encoder: dimensions of both spaces, α, similarity, margin, learning rate."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from vtr_core.config.domains import Choice, LogUniform, Uniform
from vtr_core.run.space import Parameter, Space

_LOG_GRID = (32, 64, 128, 256, 512, 1024, 2048)
_OCTAVES = tuple(round(16 * 2 ** (number / 10)) for number in range(121))
"""Ten values per octave from 16 to 65,536 (Figures 4.1 to 4.3)."""


def msrvtt() -> Space:
    """The hybrid at the size of the publication."""
    return Space(
        name="hybrid-msrvtt",
        preset="hybrid-msrvtt",
        parameters={
            "model.latent_dim": Parameter(Choice((512, 1024, 1536, 2048))),
            "model.num_concepts": Parameter(Choice((128, 256, 512, 1024))),
            "model.concept_similarity": Parameter(Choice(("jaccard", "cosine"))),
            "evaluation.latent_weight": Parameter(Uniform(0.0, 1.0)),
            "loss.margin": Parameter(Uniform(0.05, 0.4)),
            "optimizer.learning_rate": Parameter(LogUniform(2e-5, 1e-3)),
        },
        cost="weights",
    )


def msrvtt_tiny() -> Space:
    """The same settings, on a network that trains in a minute on two cores."""
    return Space(
        name="hybrid-msrvtt-tiny",
        preset="hybrid-msrvtt-tiny",
        parameters={
            "model.latent_dim": Parameter(Choice((16, 32, 64, 128))),
            "model.num_concepts": Parameter(Choice((8, 16, 32))),
            "model.concept_similarity": Parameter(Choice(("jaccard", "cosine"))),
            "evaluation.latent_weight": Parameter(Uniform(0.0, 1.0)),
            "loss.margin": Parameter(Uniform(0.05, 0.4)),
            "optimizer.learning_rate": Parameter(LogUniform(2e-4, 5e-3)),
        },
        cost="weights",
    )


def latent_dimensions() -> Space:
    """The dimension study of chapter 4: the latent space alone, on a logarithmic grid (vtr sweep … --search grid)."""
    return Space(
        name="latent-dimensions",
        preset="hybrid-msrvtt-latent",
        parameters={"model.latent_dim": Parameter(Choice(_LOG_GRID))},
        cost="weights",
    )


def concept_dimensions() -> Space:
    """The dimension study of the concept space alone."""
    return Space(
        name="concept-dimensions",
        preset="hybrid-msrvtt-concept",
        parameters={"model.num_concepts": Parameter(Choice(_LOG_GRID))},
        cost="weights",
    )


def latent_octaves() -> Space:
    """The dimension study of the latent space on the thesis's own grid: ten values per octave from 16 to 65,536."""
    return replace(
        latent_dimensions(), name="latent-octaves", parameters={"model.latent_dim": Parameter(Choice(_OCTAVES))}
    )


def concept_octaves() -> Space:
    """The same grid for concepts; a trial with more concepts than the corpus has ends in an error."""
    parameters = {"model.num_concepts": Parameter(Choice(_OCTAVES))}
    return replace(concept_dimensions(), name="concept-octaves", parameters=parameters)


SPACES: Mapping[str, Callable[[], Space]] = MappingProxyType(
    {
        "hybrid-msrvtt": msrvtt,
        "hybrid-msrvtt-tiny": msrvtt_tiny,
        "latent-dimensions": latent_dimensions,
        "concept-dimensions": concept_dimensions,
        "latent-octaves": latent_octaves,
        "concept-octaves": concept_octaves,
    }
)
