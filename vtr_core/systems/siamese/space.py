"""Search spaces of Siamese networks: margin and distance, capsules and their routing, dropout, learning rate."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from vtr_core.config.domains import Choice, LogUniform, Uniform, Variant
from vtr_core.run.space import Parameter, Space

_DROPOUTS = Variant(
    {
        "none": {"kind": "plain", "rate": 0.0},
        "0.2": {"kind": "plain", "rate": 0.2},
        "0.5": {"kind": "plain", "rate": 0.5},
        "concrete": {"kind": "concrete", "rate": 0.2},
    }
)


def att() -> Space:
    """The settings that the paper chose by cross-validation or compared, at its size."""
    return _space("siamese-att", Choice((10, 16, 32)))


def att_tiny() -> Space:
    """The same on a network that trains in a minute on two cores."""
    return _space("siamese-att-tiny", Choice((4, 10, 16)))


def _space(name: str, faces: Choice) -> Space:
    return Space(
        name=name,
        preset=name,
        parameters={
            "loss.margin": Parameter(LogUniform(0.1, 2.0)),
            "loss.distance": Parameter(Choice(("euclidean", "manhattan", "cosine"))),
            "loss.pairs": Parameter(Choice(("balanced", "hardest"))),
            "model.tower.num_face_capsules": Parameter(faces),
            "model.tower.iterations": Parameter(Choice((1, 2, 4, 6))),
            "model.tower.nonlinearity": Parameter(Choice(("tanh", "squash"))),
            "model.tower.dropout": Parameter(_DROPOUTS),
            "model.augmentation.shift": Parameter(Uniform(0.0, 0.15)),
            "model.augmentation.rotation": Parameter(Uniform(0.0, 20.0)),
            "optimizer.learning_rate": Parameter(LogUniform(1e-4, 3e-3)),
        },
        cost="weights",
    )


SPACES: Mapping[str, Callable[[], Space]] = MappingProxyType({"siamese-att": att, "siamese-att-tiny": att_tiny})
