"""Presets of Siamese networks, and what the rows of the paper's table change in them."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from vtr_core.config.override import override
from vtr_core.config.siamese import Augmentation, CapsuleTower, PairContrastiveConfig, PlainDropout, SiameseConfig
from vtr_core.config.train import (
    BatchConfig,
    EvaluationConfig,
    OptimizerConfig,
    ScalingConfig,
    TrainConfig,
    TrainingConfig,
)

Changes = dict[str, Any]


def siamese_att() -> TrainConfig:
    """The capsule network on AT&T's faces, 100 × 100, 32 face capsules, 4 rounds, AMSGrad.

    A batch is four images of each of ten subjects and has all of their 780 pairs; an epoch visits every subject once,
    so 100 passes over all images are 250 epochs.
    """
    return TrainConfig(
        preset="siamese-att",
        model=SiameseConfig(augmentation=_moves()),
        loss=PairContrastiveConfig(),
        batch=BatchConfig(videos=10, clips_per_video=4, window=8),
        optimizer=OptimizerConfig(learning_rate=1e-3, amsgrad=True, warmup_steps=20),
        training=TrainingConfig(epochs=250, validate_every=25, metric="val/auc", log_every=10),
        evaluation=EvaluationConfig(batch_rows=128),
    )


def siamese_att_tiny() -> TrainConfig:
    """The same network with fewer channels on 42 × 42, for two CPU cores and a minute."""
    base = siamese_att()
    return TrainConfig(
        preset="siamese-att-tiny",
        model=SiameseConfig(
            size=42,
            tower=CapsuleTower(channels=32, primary_types=8, num_face_capsules=10, dropout=PlainDropout(rate=0.0)),
            augmentation=_moves(),
        ),
        loss=PairContrastiveConfig(margin=1.0),
        batch=BatchConfig(videos=10, clips_per_video=4, window=8),
        optimizer=base.optimizer,
        training=TrainingConfig(epochs=80, validate_every=20, metric="val/auc"),
        scaling=ScalingConfig(workers=2),
        evaluation=base.evaluation,
    )


def siamese_lfw() -> TrainConfig:
    """The capsule network on LFW: 6 rounds and a margin of 0.2; a batch is two photographs of each of 64 people."""
    return override(
        siamese_att(),
        {
            "preset": "siamese-lfw",
            "model.tower.iterations": 6,
            "loss.margin": 0.2,
            "batch.videos": 64,
            "batch.clips_per_video": 2,
            "training.epochs": 100,
            "training.validate_every": 5,
        },
    )


def siamese_variant(base: TrainConfig, name: str) -> TrainConfig:
    """The variant `name` of `base`, a preset of a Siamese network; its preset is called `<base>-<name>`."""
    assert isinstance(base.model, SiameseConfig)
    return override(base, {**SIAMESE_VARIANTS[name], "preset": f"{base.preset}-{name}"})


def _moves() -> Augmentation:
    return Augmentation(shift=0.08, rotation=10.0, zoom=0.08, mirror=True)


_VARIANTS: dict[str, Changes] = {
    "drop-caps": {"model.tower.dropout.kind": "concrete"},
    "lenet": {"model.tower.kind": "lenet"},
    "alexnet": {"model.tower.kind": "alexnet"},
    "resnet-34": {"model.tower.kind": "resnet34"},
    "faces-10": {"model.tower.num_face_capsules": 10},
    "squash": {"model.tower.nonlinearity": "squash"},
    "reconstruction": {"model.tower.reconstruction_weight": 1e-4},
    "double-margin": {"loss.kind": "pair_double_margin"},
    "manhattan": {"loss.distance": "manhattan"},
    "cosine": {"loss.distance": "cosine"},
    "published": {
        "optimizer.schedule": "inverse_sqrt",
        "model.augmentation": Augmentation().model_dump(),
        "model.tower.dropout.rate": 0.2,
    },
}
SIAMESE_BASES: Mapping[str, Callable[[], TrainConfig]] = MappingProxyType(
    {"siamese-att": siamese_att, "siamese-att-tiny": siamese_att_tiny, "siamese-lfw": siamese_lfw}
)
SIAMESE_VARIANTS: Mapping[str, Changes] = MappingProxyType(_VARIANTS)
"""A row of the paper's table, or one of its remarks: what it changes in the base."""


def siamese_presets() -> dict[str, Callable[[], TrainConfig]]:
    """The bases, and of each the variants."""
    return {
        **SIAMESE_BASES,
        **{f"{b}-{name}": partial(_variant, b, name) for b in SIAMESE_BASES for name in SIAMESE_VARIANTS},
    }


def _variant(base: str, name: str) -> TrainConfig:
    return siamese_variant(SIAMESE_BASES[base](), name)
