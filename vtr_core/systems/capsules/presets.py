"""Presets of the capsule network, the variants of its paper's tables, and search spaces."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from vtr_core.config.caption_text import WordEncoderConfig
from vtr_core.config.data_sets import BatchConfig
from vtr_core.config.domains import Choice, Integer, LogUniform, Uniform, Variant
from vtr_core.config.losses import InfoNceConfig, MaskSameVideo
from vtr_core.config.override import override
from vtr_core.config.routing import NoRouting, SelfAttentionRouting
from vtr_core.config.run import TrainConfig
from vtr_core.config.search_space import OnlyWith, Parameter, Space
from vtr_core.config.training import OptimizerConfig, ScalingConfig, TrainingConfig
from vtr_core.systems.capsules.config import CapsuleNetConfig


def capsule_howto() -> TrainConfig:
    """The capsule paper's main model on HowTo100M: C = 128, d1 = 32, d2 = 256, D = 4096, batch 4096, 20 epochs.

    It differs from the published settings, which do not learn (variant `published`), in standardised features, pooled
    words centred to mean 0, activations that weight the primary poses (the paper's Figure 1), a short warm-up and
    gradient clipping.

    Where a linear map suffices, its activations hardly depend on the clip. Where the meaning of a feature depends on
    the rest of the clip, `model.routing.carried_presence` 2 makes them depend on it.
    """
    return TrainConfig(
        preset="capsule-howto",
        model=CapsuleNetConfig(words=WordEncoderConfig(layer_norm=True), projected_poses="primary", standardize=True),
        optimizer=OptimizerConfig(learning_rate=3e-3, full_rate_width=1024, warmup_steps=20, gradient_clip=5.0),
    )


def capsule_howto_tiny() -> TrainConfig:
    """The same network small enough for two CPU cores and a minute.

    With PyTorch's initial weights, doubled gains and activations scaled by C: on the 4,800 clips of a small synthetic
    data set with features of 256 + 64 values, R@10 on unseen clips is 51.0 %; the initial weights of the published size
    fit the training clips better and reach 33 to 41 %.
    """
    return TrainConfig(
        preset="capsule-howto-tiny",
        model=CapsuleNetConfig(
            num_capsules=32,
            primary_dim=16,
            routing=SelfAttentionRouting(pose_dim=32, mlp_dim=128, initial_gain=2.0),
            words=WordEncoderConfig(hidden_dim=256),
            embedding_dim=256,
            projected_poses="primary",
            activation_scale="num_capsules",
            initialization="torch",
            standardize=True,
        ),
        batch=BatchConfig(videos=32, clips_per_video=4),
        optimizer=OptimizerConfig(learning_rate=3e-3),
        training=TrainingConfig(epochs=10),
        scaling=ScalingConfig(workers=2),
    )


def capsule_msrvtt() -> TrainConfig:
    """The network on pooled features of a few hundred MSR-VTT videos: small, and regularised throughout.

    Presence is carried through the routing, and pooled words have a LayerNorm, so that activations of text depend on
    the caption as those of video do on the clip (benchmarks/results/knock_outs.md).

    For features that are mean ⊕ standard deviation over time and for given word vectors (benchmarks/msrvtt_ridge.py);
    its metrics there were measured with torch's initial weights.
    """
    return TrainConfig(
        preset="capsule-msrvtt",
        model=CapsuleNetConfig(
            num_capsules=32,
            primary_dim=16,
            routing=SelfAttentionRouting(pose_dim=32, mlp_dim=128, initial_gain=3.0, carried_presence=6.0),
            words=WordEncoderConfig(hidden_dim=256, pooling="max_mean", layer_norm=True, word_dropout=0.2, dropout=0.5),
            embedding_dim=256,
            projected_poses="primary",
            activation_scale="num_capsules",
            normalize=True,
            standardize=True,
            input_dropout=0.5,
            initialization="torch",
        ),
        loss=InfoNceConfig(temperature=0.1, same_video=MaskSameVideo()),
        batch=BatchConfig(videos=128, clips_per_video=4),
        optimizer=OptimizerConfig(learning_rate=2e-3, weight_decay=2.0, warmup_steps=8, gradient_clip=5.0),
        training=TrainingConfig(epochs=60, validate_every=5),
    )


BASES: Mapping[str, Callable[[], TrainConfig]] = MappingProxyType(
    {
        "capsule-howto": capsule_howto,
        "capsule-howto-tiny": capsule_howto_tiny,
        "capsule-msrvtt": capsule_msrvtt,
    }
)


Changes = dict[str, Any]
HEADS = 4
"""Heads of an attention that the paper's text calls multi-head; it names no number."""
_ONE_TO_ONE = ("none", "self_attention")
"""Routings whose secondary capsule i belongs to primary capsule i; only they can project the primary poses."""


def variant(base: TrainConfig, name: str) -> TrainConfig:
    """The variant `name` of `base`, a preset of a capsule network; its preset is called `<base>-<name>`."""
    assert isinstance(base.model, CapsuleNetConfig)
    return override(base, {**VARIANTS[name](base.model), "preset": f"{base.preset}-{name}"})


def _routing(kind: str, model: CapsuleNetConfig) -> Changes:
    """Table 3: d1 = d2 = 16 and half the capsules (C = 64), so that the votes of iterative routing fit in memory.

    Agreement and density are means over the components: by their sums, as published, iterative routing hardly learns.
    """
    changes: Changes = {
        "model.num_capsules": model.num_capsules // 2,
        "model.primary_dim": 16,
        "model.routing.kind": kind,
        "model.routing.pose_dim": 16,
        "model.projected_poses": model.projected_poses if kind in _ONE_TO_ONE else "secondary",
    }
    if kind in _ONE_TO_ONE and isinstance(model.routing, SelfAttentionRouting | NoRouting):
        changes["model.routing.mlp_dim"] = model.routing.mlp_dim
        changes["model.routing.carried_presence"] = model.routing.carried_presence
    if kind == "dynamic":
        changes["model.routing.agreement"] = "mean"
    if kind == "em":
        changes["model.routing.density"] = "mean"
    if kind == "em":  # its activations do not sum to 1
        changes["model.activation_scale"] = "none"
    return changes


def _capsules(factor: float, model: CapsuleNetConfig) -> Changes:
    """Table 4: C = 32, 64, 256 as 1/4, 1/2 and 2 times the base's number of capsules, 128 in the paper."""
    return {"model.num_capsules": int(model.num_capsules * factor)}


def _video(model: CapsuleNetConfig) -> Changes:  # noqa: ARG001
    """Table 1, video and text: audio has no part in the training."""
    return {"model.modalities": ("video",)}


def _baseline(kind: str, model: CapsuleNetConfig) -> Changes:
    """Table 5: a network without capsules, with the base's inputs, text, width and regularisation."""
    kept = ("modalities", "words", "embedding_dim", "normalize", "standardize", "input_dropout", "initialization")
    values = model.model_dump()
    return {"model.kind": kind, **{f"model.{name}": values[name] for name in kept}}


def _self_attention_baseline(model: CapsuleNetConfig) -> Changes:
    """Table 5: the text says multi-head attention, and not how many heads; here HEADS."""
    return {**_baseline("self_attention_baseline", model), "model.num_heads": HEADS}


def _not_shared(model: CapsuleNetConfig) -> Changes:  # noqa: ARG001  all variants are called alike
    """Table 6: separate routing and projection for each modality."""
    return {"model.share_weights": False}


def _mil_nce(model: CapsuleNetConfig) -> Changes:
    """Tables 1 and 2, MIL-NCE*: loss, bags of five captions and learning rate of Miech et al. 2020, on a plain network.

    Adam at 1e-3 after a warm-up, as theirs, here short and with clipping; at 3e-3 the network collapses.
    """
    loss = {"loss.kind": "mil_nce", "batch.candidates": 5, "model.normalize": False}
    optimizer = {
        "optimizer.learning_rate": 1e-3,
        "optimizer.full_rate_width": None,
        "optimizer.warmup_steps": 24,
        "optimizer.gradient_clip": 5.0,
    }
    return {**_baseline("fully_connected", model), **_video(model), **loss, **optimizer}


def _gated(model: CapsuleNetConfig, learning_rate: float) -> Changes:
    """Gated units on the base's inputs, by Adam without warm-up or clipping."""
    return {
        **_baseline("fully_connected", model),
        "model.layers": "gated_unit",
        "optimizer.learning_rate": learning_rate,
        "optimizer.full_rate_width": None,
        "optimizer.warmup_steps": 0,
        "optimizer.gradient_clip": None,
    }


def _avlnet(model: CapsuleNetConfig) -> Changes:
    """Table 1, AVLnet-Text-Tri: gated units of video, audio and text, MMS, 2.5e-4 (Rouditchenko et al. 2021 and their
    training instructions), on the base's audio features, where AVLnet learns its audio network (DAVEnet) as well.
    """
    return {**_gated(model, 2.5e-4), "loss.kind": "masked_margin_softmax", "model.normalize": False}


def _max_margin(model: CapsuleNetConfig) -> Changes:
    """Tables 1 and 2, HT100M: gated units of video and text, 1e-4, the ranking loss of Miech et al. 2019, half of it
    against the same video.
    """
    return {
        **_gated(model, 1e-4),
        **_video(model),
        "loss.kind": "max_margin_ranking",
        "loss.same_video.kind": "weight",
        "loss.same_video.hard_rate": 0.5,
    }


def _published(model: CapsuleNetConfig) -> Changes:
    """The paper's exact settings: raw features, the framework's initial weights, where the paper names none, Equation 3
    as printed, HEADS heads, as the text says multi-head and no number, Adam 1e-3 without warm-up or clipping. Trained
    with dot products; checkpoints are chosen and judged by the Euclidean distance (section 4.2).

    It hardly learns: the biases of the first layers dominate features of length 1, whose values are about 0.02. On
    97,000 synthetic clips, batch 4,096, R@10 over 1,153 clips was 6.3 % after 120 steps (chance 0.9); with the
    secondary poses in Equation 3 the loss stayed at chance level at 1e-3, 3e-4 and 1e-4.
    """
    changes: Changes = {
        "model.initialization": "torch",
        "model.standardize": False,
        "model.projected_poses": "primary",
        "model.activation_scale": "none",
        "model.words.layer_norm": False,
        "optimizer.learning_rate": 1e-3,
        "optimizer.warmup_steps": 0,
        "optimizer.gradient_clip": None,
        "optimizer.full_rate_width": None,
        "evaluation.similarity": "neg_euclidean",
    }
    if isinstance(model.routing, SelfAttentionRouting):
        changes |= {"model.routing.num_heads": HEADS, "model.routing.initial_gain": 1.0}
        changes["model.routing.carried_presence"] = 0.0
    return changes


def _text(model: CapsuleNetConfig) -> Changes:  # noqa: ARG001
    """Ours: the vectors of a pretrained encoder's tokens in the place of word vectors."""
    return {"model.words.encoder": "bundled"}


VARIANTS: Mapping[str, Callable[[CapsuleNetConfig], Changes]] = MappingProxyType(
    {
        "routing-none": partial(_routing, "none"),
        "routing-dynamic": partial(_routing, "dynamic"),
        "routing-em": partial(_routing, "em"),
        "routing-set-transformer": partial(_routing, "set_transformer"),
        "routing-self-attention": partial(_routing, "self_attention"),
        "capsules-quarter": partial(_capsules, 0.25),
        "capsules-half": partial(_capsules, 0.5),
        "capsules-double": partial(_capsules, 2.0),
        "fully-connected": partial(_baseline, "fully_connected"),
        "self-attention": _self_attention_baseline,
        "video": _video,
        "avlnet": _avlnet,
        "not-shared": _not_shared,
        "mil-nce": _mil_nce,
        "max-margin": _max_margin,
        "published": _published,
        "text": _text,
    }
)
"""The changes of each row of the paper's tables to the base preset."""


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
