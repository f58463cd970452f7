"""Search spaces of the capsule network: the loss with its margin or temperature, capsules, routing, learning rate."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from vtr_core.config.domains import Choice, Integer, LogUniform, Uniform, Variant
from vtr_core.run.space import OnlyWith, Parameter, Space

_MARGIN_LOSSES = Variant(
    {
        "constant margin": {"kind": "masked_margin_softmax", "margin": {"kind": "constant"}},
        "geometric margin": {"kind": "masked_margin_softmax", "margin": {"kind": "geometric"}},
        "adaptive margin": {"kind": "masked_margin_softmax", "margin": {"kind": "adaptive"}},
        "info_nce": {"kind": "info_nce"},
    }
)


def howto() -> Space:
    """The settings compared in the paper's Tables 2 and 6, at its size."""
    return Space(
        name="capsule-howto",
        preset="capsule-howto",
        parameters={
            "loss": Parameter(_MARGIN_LOSSES),
            "loss.margin.value": Parameter(LogUniform(1e-4, 1.0), OnlyWith("loss", ("constant margin",))),
            "loss.margin.initial": Parameter(LogUniform(1e-4, 0.1), OnlyWith("loss", ("geometric margin",))),
            "loss.margin.factor": Parameter(Uniform(1.0005, 1.01), OnlyWith("loss", ("geometric margin",))),
            "loss.margin.scale": Parameter(Uniform(0.1, 0.9), OnlyWith("loss", ("adaptive margin",))),
            "loss.temperature": Parameter(LogUniform(0.02, 0.5), OnlyWith("loss", ("info_nce",))),
            "model.num_capsules": Parameter(Choice((32, 64, 128, 256))),
            "model.primary_dim": Parameter(Choice((16, 32, 64))),
            "model.routing": Parameter(
                Variant(
                    {
                        "self_attention": {"kind": "self_attention"},
                        "self_attention, 4 heads": {"kind": "self_attention", "num_heads": 4},
                        "self_attention, gain 2": {"kind": "self_attention", "initial_gain": 2.0},
                        "none": {"kind": "none"},
                    }
                )
            ),
            "optimizer.learning_rate": Parameter(LogUniform(1e-4, 5e-3)),
        },
        cost="weights",
    )


def howto_tiny() -> Space:
    """Margin, temperature and number of capsules, on a network that trains in a minute on two cores."""
    return Space(
        name="capsule-howto-tiny",
        preset="capsule-howto-tiny",
        parameters={
            "loss": Parameter(
                Variant(
                    {
                        "margin": {"kind": "masked_margin_softmax", "margin": {"kind": "constant"}},
                        "temperature": {"kind": "info_nce"},
                    }
                )
            ),
            "loss.margin.value": Parameter(LogUniform(1e-3, 1.0), OnlyWith("loss", ("margin",))),
            "loss.temperature": Parameter(LogUniform(0.02, 1.0), OnlyWith("loss", ("temperature",))),
            "model.num_capsules": Parameter(Choice((4, 8, 16, 32))),
        },
        cost="weights",
    )


def msrvtt() -> Space:
    """Regularisation, for a few hundred videos."""
    return Space(
        name="capsule-msrvtt",
        preset="capsule-msrvtt",
        parameters={
            "loss.temperature": Parameter(LogUniform(0.03, 0.3)),
            "model.num_capsules": Parameter(Choice((16, 32, 64))),
            "model.primary_dim": Parameter(Choice((8, 16, 32))),
            "model.routing": Parameter(
                Variant(
                    {
                        f"self_attention, {dim}": {
                            "kind": "self_attention",
                            "pose_dim": dim,
                            "mlp_dim": 128,
                            "initial_gain": 3.0,
                            "carried_presence": 6.0,
                        }
                        for dim in (16, 32, 64)
                    }
                )
            ),
            "model.input_dropout": Parameter(Uniform(0.2, 0.7)),
            "model.words.dropout": Parameter(Uniform(0.2, 0.7)),
            "model.words.word_dropout": Parameter(Uniform(0.0, 0.4)),
            "optimizer.learning_rate": Parameter(LogUniform(5e-4, 5e-3)),
            "optimizer.weight_decay": Parameter(LogUniform(0.1, 5.0)),
            "optimizer.warmup_steps": Parameter(Integer(0, 32)),
        },
        cost="weights",
    )


SPACES: Mapping[str, Callable[[], Space]] = MappingProxyType(
    {"capsule-howto": howto, "capsule-howto-tiny": howto_tiny, "capsule-msrvtt": msrvtt}
)
