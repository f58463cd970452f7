"""Search spaces of the captioner: masking, pair scoring, contrastive weights, decoding."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from vtr_core.config.domains import Choice, LogUniform, Uniform
from vtr_core.run.space import Parameter, Space


def msrvtt() -> Space:
    """The settings compared in the paper's Table 2, at its size."""
    return Space(
        name="caption-msrvtt",
        preset="caption-msrvtt",
        parameters={
            "model.mask_rate": Parameter(Uniform(0.15, 0.5)),
            "loss.score.score": Parameter(Choice(("fusion", "cosine"))),
            "loss.score.weight": Parameter(LogUniform(0.05, 2.0)),
            "loss.granularity_margin.reading": Parameter(Choice(("leave_one_out", "corpus", "idf"))),
            "loss.granularity_margin.weight": Parameter(LogUniform(0.02, 1.0)),
            "loss.granularity_margin.warmup_steps": Parameter(Choice((6000, 14000))),
            "optimizer.learning_rate": Parameter(LogUniform(3e-6, 1e-4)),
        },
        cost="weights",
    )


def msrvtt_tiny() -> Space:
    """The same settings on a network for two cores."""
    return Space(
        name="caption-msrvtt-tiny",
        preset="caption-msrvtt-tiny",
        parameters={
            "model.mask_rate": Parameter(Uniform(0.15, 0.7)),
            "model.layers": Parameter(Choice((1, 2, 4))),
            "model.hidden_dim": Parameter(Choice((64, 128, 256))),
            "loss.score.weight": Parameter(LogUniform(0.02, 1.0)),
            "loss.granularity_margin.reading": Parameter(Choice(("leave_one_out", "corpus", "idf"))),
            "loss.granularity_margin.weight": Parameter(LogUniform(0.02, 1.0)),
            "optimizer.learning_rate": Parameter(LogUniform(3e-4, 5e-3)),
        },
        cost="weights",
    )


SPACES: Mapping[str, Callable[[], Space]] = MappingProxyType(
    {"caption-msrvtt": msrvtt, "caption-msrvtt-tiny": msrvtt_tiny}
)
