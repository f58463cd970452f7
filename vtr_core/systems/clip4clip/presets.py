"""Presets of CLIP4Clip and of MUSE within it, and variants."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from vtr_core.config.batch import BatchConfig
from vtr_core.config.blocks.clip import ClipConfig, TransformerSize
from vtr_core.config.blocks.learners import MambaLearner
from vtr_core.config.evaluation import EvaluationConfig
from vtr_core.config.losses.contrastive import InfoNceConfig
from vtr_core.config.model_inputs import ModelInputs
from vtr_core.config.optimizer import CLIP4CLIP_ADAM, OptimizerConfig
from vtr_core.config.override import override
from vtr_core.config.scaling import ScalingConfig
from vtr_core.config.training import TrainingConfig
from vtr_core.run.config import TrainConfig
from vtr_core.systems.clip4clip.config import Clip4ClipConfig, MuseFrames

Changes = dict[str, Any]


def clip4clip_msrvtt() -> TrainConfig:
    """CLIP4Clip on MSR-VTT 1k-A at its published sizes (Luo et al. 2022): ViT-B/32, 12 frames, meanP.

    Batches of 128, five epochs over all captions, a rate of 1e-7 of CLIP and its temperature and 1e-4 of what is new,
    warm-up over a tenth of the steps, then a cosine, BERT's Adam and its clipping, weight decay 0.2. The temperature
    begins where CLIP's training ended.
    """
    captions = 20
    return TrainConfig(
        preset="clip4clip-msrvtt",
        model=Clip4ClipConfig(),
        loss=_loss(temperature=0.01),
        batch=BatchConfig(videos=128, clips_per_video=1, max_frames=12),
        optimizer=OptimizerConfig(
            learning_rate=1e-4,
            backbone_factor=1e-3,
            temperature_factor=1e-3,
            weight_decay=0.2,
            **CLIP4CLIP_ADAM,
        ),
        training=TrainingConfig(epochs=5 * captions, validate_every=captions),
        evaluation=EvaluationConfig(similarity="cosine", batch_rows=32),
    )


def muse_clip_msrvtt() -> TrainConfig:
    """MUSE's block within CLIP4Clip at its published sizes (Tang et al. 2025): scales 1, 3, 7, 14, four layers."""
    changes: Changes = {"preset": "muse-clip-msrvtt", "model.frames.kind": "muse", "optimizer.learner_factor": 10.0}
    return override(clip4clip_msrvtt(), changes)


def _long(base: Callable[[], TrainConfig], name: str, batch: int, epochs: int) -> TrainConfig:
    """64 frames and 64 words, with a paragraph per video: one caption, so an epoch sees each once."""
    return override(
        base(),
        {
            "preset": name,
            "batch.max_frames": 64,
            "batch.videos": batch,
            "model.inputs.max_words": 64,
            "training.epochs": epochs,
            "training.validate_every": 1,
            "evaluation.batch_rows": 8,
        },
    )


def clip4clip_didemo() -> TrainConfig:
    """CLIP4Clip on DiDeMo's 8,395 training videos: all sentences of a video as one paragraph."""
    return _long(clip4clip_msrvtt, "clip4clip-didemo", 64, 5)


def muse_clip_didemo() -> TrainConfig:
    """MUSE's block on DiDeMo."""
    return _long(muse_clip_msrvtt, "muse-clip-didemo", 64, 5)


def clip4clip_activitynet() -> TrainConfig:
    """CLIP4Clip on ActivityNet Captions' 10,009 training videos: paragraph retrieval."""
    return _long(clip4clip_msrvtt, "clip4clip-activitynet", 64, 5)


def muse_clip_activitynet() -> TrainConfig:
    """MUSE's block on ActivityNet Captions."""
    return _long(muse_clip_msrvtt, "muse-clip-activitynet", 64, 5)


def clip4clip_tiny() -> TrainConfig:
    """A CLIP of two layers from random weights on pictures of 32 × 32, for two CPU cores."""
    size = TransformerSize(width=64, layers=2, heads=4)
    backbone = ClipConfig(image_size=32, patch=8, vision=size, text=size, context=34, embedding_dim=64)
    return TrainConfig(
        preset="clip4clip-tiny",
        model=Clip4ClipConfig(inputs=ModelInputs(max_words=20), backbone=backbone, stored_size=32),
        loss=_loss(temperature=0.05),
        batch=BatchConfig(videos=32, clips_per_video=1, max_frames=6),
        optimizer=OptimizerConfig(learning_rate=1e-3, weight_decay=0.01, warmup_steps=20, gradient_clip=2.0),
        training=TrainingConfig(epochs=30, validate_every=5),
        scaling=ScalingConfig(workers=2),
        evaluation=EvaluationConfig(similarity="cosine"),
    )


def muse_clip_tiny() -> TrainConfig:
    """The same with MUSE's block over three scales of 4 × 4 patches."""
    frames = MuseFrames(scales=(1, 2, 4), learner=MambaLearner(layers=2, state=8))
    changes: Changes = {"preset": "muse-clip-tiny", "model.frames": frames.model_dump()}
    return override(clip4clip_tiny(), changes)


def clip4clip_variant(base: TrainConfig, name: str) -> TrainConfig:
    """The variant `name` of `base`; its preset is called `<base>-<name>`."""
    return override(base, {**CLIP4CLIP_VARIANTS[name], "preset": f"{base.preset}-{name}"})


def _loss(temperature: float) -> InfoNceConfig:
    return InfoNceConfig(temperature=temperature, learnable_temperature=True, max_scale=100.0)


CLIP4CLIP_BASES: Mapping[str, Callable[[], TrainConfig]] = MappingProxyType(
    {
        "clip4clip-msrvtt": clip4clip_msrvtt,
        "muse-clip-msrvtt": muse_clip_msrvtt,
        "clip4clip-didemo": clip4clip_didemo,
        "muse-clip-didemo": muse_clip_didemo,
        "clip4clip-activitynet": clip4clip_activitynet,
        "muse-clip-activitynet": muse_clip_activitynet,
        "clip4clip-tiny": clip4clip_tiny,
        "muse-clip-tiny": muse_clip_tiny,
    }
)
CLIP4CLIP_VARIANTS: Mapping[str, Changes] = MappingProxyType(
    {
        "mean": {"model.frames.kind": "mean"},
        "seq-transf": {"model.frames.kind": "transformer"},
        "frozen": {"model.backbone.freeze": "all"},
    }
)
"""meanP, seqTransf, and a CLIP that is not trained."""
