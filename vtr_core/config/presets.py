"""Presets: a name is a function that returns a complete configuration; a variant changes a few lines of another."""

import difflib
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from vtr_core.config.capsule_variants import VARIANTS, variant
from vtr_core.config.caption_presets import CAPTION_BASES, CAPTION_VARIANTS, caption_variant
from vtr_core.config.dual_presets import DUAL_BASES, DUAL_VARIANTS, dual_variant
from vtr_core.config.loss import InfoNceConfig, MaskSameVideo
from vtr_core.config.model import CapsuleNetConfig, SelfAttentionRouting, WordEncoderConfig
from vtr_core.config.muse_presets import MUSE_BASES, MUSE_VARIANTS, muse_variant
from vtr_core.config.siamese_presets import SIAMESE_BASES, SIAMESE_VARIANTS, siamese_presets
from vtr_core.config.train import BatchConfig, OptimizerConfig, ScalingConfig, TrainConfig, TrainingConfig
from vtr_core.errors import ConfigError


def capsule_howto() -> TrainConfig:
    """The capsule paper's main model on HowTo100M: C = 128, d1 = 32, d2 = 256, D = 4096, batch 4096, 20 epochs."""
    return TrainConfig(preset="capsule-howto")


def capsule_howto_tiny() -> TrainConfig:
    """The same network small enough for two CPU cores and a minute.

    In so few steps attention stays near uniform where it begins so, and routed poses nearly equal: hence the initial
    gain, and f_out sees the primary poses.
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
            standardize=True,
        ),
        batch=BatchConfig(videos=32, clips_per_video=4),
        optimizer=OptimizerConfig(learning_rate=3e-3),
        training=TrainingConfig(epochs=10),
        scaling=ScalingConfig(workers=2),
    )


def capsule_msrvtt() -> TrainConfig:
    """The network on pooled features of a few hundred MSR-VTT videos: small, and regularised throughout.

    For features that are mean ⊕ standard deviation over time and for given word vectors (benchmarks/msrvtt_ridge.py).
    """
    return TrainConfig(
        preset="capsule-msrvtt",
        model=CapsuleNetConfig(
            num_capsules=32,
            primary_dim=16,
            routing=SelfAttentionRouting(pose_dim=32, mlp_dim=128, initial_gain=3.0),
            words=WordEncoderConfig(hidden_dim=256, pooling="max_mean", word_dropout=0.2, dropout=0.5),
            embedding_dim=256,
            projected_poses="primary",
            activation_scale="num_capsules",
            normalize=True,
            standardize=True,
            input_dropout=0.5,
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


def _variant(base: str, name: str) -> TrainConfig:
    return variant(BASES[base](), name)


def _dual_variant(base: str, name: str) -> TrainConfig:
    return dual_variant(DUAL_BASES[base](), name)


def _muse_variant(base: str, name: str) -> TrainConfig:
    return muse_variant(MUSE_BASES[base](), name)


def _caption_variant(base: str, name: str) -> TrainConfig:
    return caption_variant(CAPTION_BASES[base](), name)


PRESETS: Mapping[str, Callable[[], TrainConfig]] = MappingProxyType(
    {
        **BASES,
        **{f"{base}-{name}": partial(_variant, base, name) for base in BASES for name in VARIANTS},
        **DUAL_BASES,
        **{f"{base}-{name}": partial(_dual_variant, base, name) for base in DUAL_BASES for name in DUAL_VARIANTS},
        **MUSE_BASES,
        **{f"{base}-{name}": partial(_muse_variant, base, name) for base in MUSE_BASES for name in MUSE_VARIANTS},
        **siamese_presets(),
        **CAPTION_BASES,
        **{
            f"{base}-{name}": partial(_caption_variant, base, name)
            for base in CAPTION_BASES
            for name in CAPTION_VARIANTS
        },
    }
)
"""The bases, and of each the variants of the papers' tables as `<base>-<variant>`."""


def preset(name: str) -> TrainConfig:
    """The configuration of the preset `name`; ConfigError lists the known ones."""
    if name not in PRESETS:
        close = difflib.get_close_matches(name, PRESETS, n=3)
        hint = f"did you mean {' or '.join(close)}? " if close else ""
        raise ConfigError(f"no preset {name!r}; {hint}{' '.join(describe_presets().split())}")
    return PRESETS[name]()


def describe_presets() -> str:
    """The names of all presets, two lines for each family."""
    families = (
        (BASES, VARIANTS),
        (DUAL_BASES, DUAL_VARIANTS),
        (MUSE_BASES, MUSE_VARIANTS),
        (SIAMESE_BASES, SIAMESE_VARIANTS),
        (CAPTION_BASES, CAPTION_VARIANTS),
    )
    return ";\n".join(
        f"presets: {', '.join(bases)};\nvariants of each, <preset>-<variant>: {', '.join(variants)}"
        for bases, variants in families
    )
