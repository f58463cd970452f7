"""Search spaces of MUSE: scales, layers, scan, order of the tokens, learning rates."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from vtr_core.config.domains import Choice, LogUniform, Variant
from vtr_core.run.space import Parameter, Space


def msrvtt() -> Space:
    """The settings compared in the paper's Tables 5 to 8, at its size."""
    return Space(
        name="muse-msrvtt",
        preset="muse-msrvtt",
        parameters={
            "model.scales": Parameter(
                Variant({"1": (1,), "1, 3": (1, 3), "1, 3, 7": (1, 3, 7), "1, 3, 7, 14": (1, 3, 7, 14)})
            ),
            "model.learner.layers": Parameter(Choice((2, 4, 8))),
            "model.learner.scan": Parameter(Choice(("none", "v1", "v2"))),
            "model.aggregation": Parameter(Choice(("scale", "frame", "spatial"))),
            "optimizer.learning_rate": Parameter(LogUniform(2e-5, 5e-4)),
            "optimizer.learner_factor": Parameter(LogUniform(1.0, 30.0)),
        },
        cost="weights",
    )


def msrvtt_tiny() -> Space:
    """The same for temporal scales, on a network that trains in a minute on two cores."""
    return Space(
        name="muse-msrvtt-tiny",
        preset="muse-msrvtt-tiny",
        parameters={
            "model.temporal_scales": Parameter(
                Variant({"none": (), "2": (2,), "2, 4": (2, 4), "2, 4, 8": (2, 4, 8), "2, 4, 8, 16": (2, 4, 8, 16)})
            ),
            "model.learner.layers": Parameter(Choice((1, 2, 4))),
            "model.learner.scan": Parameter(Choice(("none", "v1", "v2"))),
            "model.aggregation": Parameter(Choice(("scale", "frame"))),
            "optimizer.learning_rate": Parameter(LogUniform(5e-4, 1e-2)),
            "optimizer.learner_factor": Parameter(LogUniform(0.1, 10.0)),
        },
        cost="weights",
    )


SPACES: Mapping[str, Callable[[], Space]] = MappingProxyType({"muse-msrvtt": msrvtt, "muse-msrvtt-tiny": msrvtt_tiny})
