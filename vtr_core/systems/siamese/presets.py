"""Presets of Siamese networks, the variants of the paper's table, and search spaces."""

from vtr_core.config.data_sets import BatchConfig
from vtr_core.config.run import Change, EvaluationConfig, OptimizerConfig, Row, ScalingConfig, TrainingConfig
from vtr_core.config.search_space import Choice, LogUniform, Parameter, Space, Uniform, Variant
from vtr_core.config.towers import (
    AlexNetTower,
    CapsuleTower,
    ConcreteDropout,
    InceptionTower,
    LeNetTower,
    PlainDropout,
    ResNetTower,
)
from vtr_core.systems.siamese.config import Augmentation, PairContrastiveConfig, PairDoubleMarginConfig, SiameseConfig
from vtr_core.systems.system import Presets

_BASES = {
    # A batch is four images of each of ten subjects and has all of their 780 pairs; an epoch visits every subject once,
    # so 250 epochs are 100 passes over ten images of each. Augmentation: affine transforms that keep the identity;
    # mirroring and stretching, which add nine further identities.
    "siamese-att": Row(
        about="face verification for AT&T's faces at the published sizes: 32 face capsules",
        starter=True,
        model=SiameseConfig(
            augmentation=Augmentation(
                shift=0.04, rotation=5.0, zoom=0.05, mirror_subjects=True, stretch_subjects=(0.7, 0.84, 1.19, 1.43)
            )
        ),
        loss=PairContrastiveConfig(),
        batch=BatchConfig(videos=10, clips_per_video=4, window=8),
        optimizer=OptimizerConfig(learning_rate=1e-3, amsgrad=True, warmup_steps=20),
        training=TrainingConfig(epochs=250, validate_every=25, metric="val/auc", log_every=10),
        evaluation=EvaluationConfig(batch_rows=128),
    ),
    # Settings were chosen on four of AT&T's seven groups (0 to 3). With only 25 subjects, four times as many channels
    # and primary capsules, dropout of 0.2 and m = 1 are no better on unseen faces, and stretching every other face
    # instead of four in five gives fewer errors. Five validation subjects are too few to select a checkpoint: the last
    # one is used.
    "siamese-att-small": Row(
        about="the same for CPUs: 42 × 42 pixels, 10 face capsules; a minute",
        starter=True,
        like=("siamese-att",),
        model=SiameseConfig(
            size=42,
            mirror_average=True,
            augmentation=Augmentation(stretched=0.5),
            tower=CapsuleTower(channels=16, primary_types=8, num_face_capsules=10, dropout=PlainDropout(rate=0.0)),
        ),
        loss=PairContrastiveConfig(margin=0.6),
        optimizer=OptimizerConfig(weight_decay=0.05),
        training=TrainingConfig(epochs=360, validate_every=360, ema_decay=0.99),
    ),
    "siamese-att-tiny": Row(
        about="siamese-att-small trained for a shorter time, on two workers",
        like=("siamese-att-small",),
        training=TrainingConfig(epochs=80, validate_every=20, ema_decay=None),
        scaling=ScalingConfig(workers=2),
    ),
    "siamese-lfw": Row(
        about="face verification for LFW at the published sizes: 6 rounds, margin 0.2",
        like=("siamese-att",),
        model=SiameseConfig(tower=CapsuleTower(iterations=6)),
        loss=PairContrastiveConfig(margin=0.2),
        batch=BatchConfig(videos=64, clips_per_video=2),
        training=TrainingConfig(epochs=100, validate_every=5),
    ),
}


def _drop_caps(model: SiameseConfig) -> Change:
    """The layers below the face capsules keep their dropout rate."""
    assert isinstance(model.tower, CapsuleTower)
    dropout = ConcreteDropout(rate=model.tower.dropout.rate)
    return Change(model=SiameseConfig(tower=CapsuleTower(dropout=dropout)))


_VARIANTS = {
    "drop-caps": Row(about="Table 1: SDropCapNet, concrete dropout on the face capsules", of_model=_drop_caps),
    "lenet": Row(about="Table 1: LeNet-5", model=SiameseConfig(tower=LeNetTower())),
    # A tenth of the learning rate: without normalisation, at 1e-3 all faces collapse to one point.
    "alexnet": Row(
        about="Table 1: AlexNet",
        model=SiameseConfig(tower=AlexNetTower()),
        optimizer=OptimizerConfig(learning_rate=1e-4),
    ),
    "resnet-34": Row(about="Table 1: ResNet-34", model=SiameseConfig(tower=ResNetTower())),
    "inception-v3": Row(about="Table 1: InceptionV3", model=SiameseConfig(tower=InceptionTower())),
    "reconstruction": Row(
        about="a decoder of faces", model=SiameseConfig(tower=CapsuleTower(reconstruction_weight=1e-4))
    ),
}


def _published_dropout(model: SiameseConfig) -> Change:
    """0.2 below a capsule tower's last layer; concrete dropout is Equations 2 and 3 as printed, λ = 0.1 of the weights.
    Other towers have their own dropout.
    """
    if not isinstance(model.tower, CapsuleTower):
        return Change()
    concrete = ConcreteDropout(rate=0.2, weight_penalty=0.1, compat="paper")
    dropout = concrete if isinstance(model.tower.dropout, ConcreteDropout) else PlainDropout(rate=0.2)
    return Change(model=SiameseConfig(tower=CapsuleTower(dropout=dropout)))


_RECIPES = {
    "double-margin": Row(about="Table 1: a margin for matching pairs as well", loss=PairDoubleMarginConfig()),
    "published": Row(
        about="section 4's training of any tower: AMSGrad at α/√t, no augmentation",
        of_model=_published_dropout,
        model=SiameseConfig(
            mirror_average=False,
            augmentation=Augmentation(
                shift=0.0, rotation=0.0, zoom=0.0, mirror_subjects=False, stretch_subjects=(), stretched=0.8
            ),
        ),
        optimizer=OptimizerConfig(learning_rate=1e-3, schedule="inverse_sqrt", warmup_steps=0, weight_decay=0.0),
    ),
}

_DROPOUTS = Variant(
    {
        "none": {"kind": "plain", "rate": 0.0},
        "0.2": {"kind": "plain", "rate": 0.2},
        "0.5": {"kind": "plain", "rate": 0.5},
        "concrete": {"kind": "concrete", "rate": 0.2},
    }
)

SIAMESE_PRESETS = Presets(
    _BASES,
    _VARIANTS,
    _RECIPES,
    spaces=tuple(  # the settings that the paper chose by cross-validation or compared
        Space(
            name,
            name,
            {
                "loss.margin": Parameter(LogUniform(0.1, 2.0)),
                "loss.distance": Parameter(Choice(("euclidean", "manhattan", "cosine"))),
                "loss.pairs": Parameter(Choice(("balanced", "hardest"))),
                "model.tower.num_face_capsules": Parameter(Choice(faces)),
                "model.tower.iterations": Parameter(Choice((1, 2, 4, 6))),
                "model.tower.nonlinearity": Parameter(Choice(("tanh", "squash"))),
                "model.tower.dropout": Parameter(_DROPOUTS),
                "model.augmentation.shift": Parameter(Uniform(0.0, 0.15)),
                "model.augmentation.rotation": Parameter(Uniform(0.0, 20.0)),
                "optimizer.learning_rate": Parameter(LogUniform(1e-4, 3e-3)),
            },
        )
        for name, faces in {"siamese-att": (10, 16, 32), "siamese-att-tiny": (4, 10, 16)}.items()
    ),
    most_used=("model.tower.kind", "model.tower.channels", "loss.kind", "loss.margin", "loss.pairs"),
)
