"""Presets of Siamese networks, the variants of the paper's table, and search spaces."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

from vtr_core.config.data_sets import BatchConfig
from vtr_core.config.domains import Choice, LogUniform, Uniform, Variant
from vtr_core.config.override import override
from vtr_core.config.run import TrainConfig
from vtr_core.config.search_space import Parameter, Space
from vtr_core.config.towers import CapsuleTower, ConcreteDropout, PlainDropout
from vtr_core.config.training import EvaluationConfig, OptimizerConfig, TrainingConfig
from vtr_core.systems.siamese.config import Augmentation, PairContrastiveConfig, SiameseConfig

Changes = dict[str, Any]


def siamese_att() -> TrainConfig:
    """The capsule network at its published sizes: AT&T's faces in 100 × 100, 32 face capsules, 4 rounds, m = 0.4.

    A batch is four images of each of ten subjects and has all of their 780 pairs; an epoch visits every subject once,
    so 250 epochs are 100 passes over ten images of each.
    """
    return TrainConfig(
        preset="siamese-att",
        model=SiameseConfig(augmentation=_augmentation()),
        loss=PairContrastiveConfig(),
        batch=BatchConfig(videos=10, clips_per_video=4, window=8),
        optimizer=OptimizerConfig(learning_rate=1e-3, amsgrad=True, warmup_steps=20),
        training=TrainingConfig(epochs=250, validate_every=25, metric="val/auc", log_every=10),
        evaluation=EvaluationConfig(batch_rows=128),
    )


def siamese_att_small() -> TrainConfig:
    """For CPUs: 42 × 42, 16 channels, 32 primary capsules and 10 face capsules; trains in a minute.

    Settings were chosen on four of AT&T's seven groups (0 to 3). With only 25 subjects, four times as many channels and
    primary capsules, dropout of 0.2 and m = 1 are no better on unseen faces, and stretching every other face instead of
    four in five gives fewer errors. Five validation subjects are too few to select a checkpoint: the last one is used.
    """
    return override(
        siamese_att(),
        {
            "preset": "siamese-att-small",
            "model.size": 42,
            "model.mirror_average": True,
            "model.augmentation.stretched": 0.5,
            "model.tower.channels": 16,
            "model.tower.primary_types": 8,
            "model.tower.num_face_capsules": 10,
            "model.tower.dropout.rate": 0.0,
            "loss.margin": 0.6,
            "optimizer.weight_decay": 0.05,
            "training.epochs": 360,
            "training.validate_every": 360,
            "training.ema_decay": 0.99,
        },
    )


def siamese_att_tiny() -> TrainConfig:
    """A shorter training on two workers."""
    return override(
        siamese_att_small(),
        {
            "preset": "siamese-att-tiny",
            "training.epochs": 80,
            "training.validate_every": 20,
            "training.ema_decay": None,
            "scaling.workers": 2,
        },
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
    return override(base, {**SIAMESE_VARIANTS[name](base.model), "preset": f"{base.preset}-{name}"})


def _augmentation() -> Augmentation:
    """Affine transforms that keep the identity; mirroring and stretching, which add nine further identities."""
    return Augmentation(
        shift=0.04, rotation=5.0, zoom=0.05, mirror_subjects=True, stretch_subjects=(0.7, 0.84, 1.19, 1.43)
    )


def _drop_caps(model: SiameseConfig) -> Changes:
    """SDropCapNet: concrete dropout on the face capsules; the layers below keep their dropout rate."""
    assert isinstance(model.tower, CapsuleTower)
    return {"model.tower.dropout": ConcreteDropout(rate=model.tower.dropout.rate).model_dump()}


def _tower(kind: Literal["lenet", "alexnet", "resnet34", "inception_v3"], model: SiameseConfig) -> Changes:  # noqa: ARG001
    """A baseline of Table 1, with its own dropout."""
    return {"model.tower.kind": kind}


def _alexnet(model: SiameseConfig) -> Changes:
    """AlexNet at a tenth of the learning rate: without normalisation, at 1e-3 all faces collapse to one point."""
    return {**_tower("alexnet", model), "optimizer.learning_rate": 1e-4}


def _changes(changes: Changes, model: SiameseConfig) -> Changes:  # noqa: ARG001  all variants are called alike
    return changes


RECIPE: Changes = {
    "optimizer.learning_rate": 1e-3,
    "optimizer.schedule": "inverse_sqrt",
    "optimizer.warmup_steps": 0,
    "optimizer.weight_decay": 0.0,
    "model.augmentation": Augmentation().model_dump(),
    "model.mirror_average": False,
}
"""Section 4's training of any tower: AMSGrad at α/√t, no augmentation in training or test."""


def _published(tower: Callable[[SiameseConfig], Changes], model: SiameseConfig) -> Changes:
    """The published recipe on a tower, with dropout of 0.2 below its last layer.

    Concrete dropout is Equations 2 and 3 as printed, with λ = 0.1 of the weights.
    """
    changes = tower(model)
    dropout = changes.get("model.tower.dropout")
    if dropout is not None:
        printed = ConcreteDropout(rate=0.2, weight_penalty=0.1, compat="paper").model_dump()
        return {**changes, **RECIPE, "model.tower.dropout": printed}
    if "model.tower.kind" in changes:
        return {**changes, **RECIPE}
    return {**changes, **RECIPE, "model.tower.dropout": PlainDropout().model_dump()}


SIAMESE_BASES: Mapping[str, Callable[[], TrainConfig]] = MappingProxyType(
    {
        "siamese-att": siamese_att,
        "siamese-att-small": siamese_att_small,
        "siamese-att-tiny": siamese_att_tiny,
        "siamese-lfw": siamese_lfw,
    }
)
SIAMESE_VARIANTS: Mapping[str, Callable[[SiameseConfig], Changes]] = MappingProxyType(
    {
        "drop-caps": _drop_caps,
        "lenet": partial(_tower, "lenet"),
        "alexnet": _alexnet,
        "resnet-34": partial(_tower, "resnet34"),
        "inception-v3": partial(_tower, "inception_v3"),
        "faces-10": partial(_changes, {"model.tower.num_face_capsules": 10}),
        "squash": partial(_changes, {"model.tower.nonlinearity": "squash"}),
        "reconstruction": partial(_changes, {"model.tower.reconstruction_weight": 1e-4}),
        "double-margin": partial(_changes, {"loss.kind": "pair_double_margin"}),
        "manhattan": partial(_changes, {"loss.distance": "manhattan"}),
        "cosine": partial(_changes, {"loss.distance": "cosine"}),
        "published": partial(_published, partial(_changes, {})),
        "published-drop-caps": partial(_published, _drop_caps),
        "published-lenet": partial(_published, partial(_tower, "lenet")),
        "published-alexnet": partial(_published, partial(_tower, "alexnet")),
        "published-resnet-34": partial(_published, partial(_tower, "resnet34")),
        "published-inception-v3": partial(_published, partial(_tower, "inception_v3")),
    }
)
"""The changes of each row of the paper's table, or of one of its remarks, to the base preset."""


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
