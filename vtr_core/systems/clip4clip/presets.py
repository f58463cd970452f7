"""Presets of CLIP4Clip and of MUSE within it, and variants."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from vtr_core.config.data_sets import BatchConfig
from vtr_core.config.losses import InfoNceConfig
from vtr_core.config.override import override
from vtr_core.config.pretrained import ClipConfig, TransformerSize
from vtr_core.config.run import TrainConfig
from vtr_core.config.sequence_models import MambaLearner
from vtr_core.config.settings import ModelInputs
from vtr_core.config.training import CLIP4CLIP_ADAM, EvaluationConfig, OptimizerConfig, ScalingConfig, TrainingConfig
from vtr_core.systems.clip4clip.config import Clip4ClipConfig, MuseFrames

Changes = dict[str, Any]
_BATCH, _PASSES = 128, 5
"""Published, of every data set."""


def clip4clip_msrvtt() -> TrainConfig:
    """CLIP4Clip on MSR-VTT 1k-A at its published sizes (Luo et al. 2021): ViT-B/32, 12 frames, meanP.

    Batches of 128, five epochs over all captions, a rate of 1e-7 of CLIP and its temperature and 1e-4 of what is new,
    warm-up over a tenth of the steps, then a cosine, BERT's Adam and its clipping, weight decay 0.2. The temperature
    begins where CLIP's training ended.
    """
    captions = 20
    return TrainConfig(
        preset="clip4clip-msrvtt",
        model=Clip4ClipConfig(),
        loss=_loss(temperature=0.01),
        batch=BatchConfig(videos=_BATCH, clips_per_video=1, max_frames=12),
        optimizer=OptimizerConfig(
            learning_rate=1e-4,
            backbone_factor=1e-3,
            temperature_factor=1e-3,
            weight_decay=0.2,
            **CLIP4CLIP_ADAM,
        ),
        training=TrainingConfig(epochs=_PASSES * captions, validate_every=captions),
        evaluation=EvaluationConfig(similarity="cosine", batch_rows=32),
    )


def muse_clip_msrvtt() -> TrainConfig:
    """MUSE's block within CLIP4Clip at its published sizes (Tang et al. 2025): scales 1, 3, 7, 14, four layers."""
    changes: Changes = {"preset": "muse-clip-msrvtt", "model.frames.kind": "muse", "optimizer.learner_factor": 10.0}
    return override(clip4clip_msrvtt(), changes)


def clip4clip_msvd() -> TrainConfig:
    """CLIP4Clip on MSVD: every epoch has one of the about 41 captions of each of the 1,200 training videos."""
    return _trained_on(clip4clip_msrvtt(), "clip4clip-msvd", captions=41)


def muse_clip_msvd() -> TrainConfig:
    """MUSE's block on MSVD."""
    return _trained_on(muse_clip_msrvtt(), "muse-clip-msvd", captions=41)


def clip4clip_lsmdc() -> TrainConfig:
    """CLIP4Clip on LSMDC's about 101,000 training clips, with one caption each."""
    return _trained_on(clip4clip_msrvtt(), "clip4clip-lsmdc", captions=1)


def muse_clip_lsmdc() -> TrainConfig:
    """MUSE's block on LSMDC."""
    return _trained_on(muse_clip_msrvtt(), "muse-clip-lsmdc", captions=1)


def clip4clip_didemo() -> TrainConfig:
    """CLIP4Clip on DiDeMo's 8,395 training videos: all sentences of a video as one paragraph."""
    return _paragraphs(clip4clip_msrvtt(), "clip4clip-didemo")


def muse_clip_didemo() -> TrainConfig:
    """MUSE's block on DiDeMo."""
    return _paragraphs(muse_clip_msrvtt(), "muse-clip-didemo")


def clip4clip_activitynet() -> TrainConfig:
    """CLIP4Clip on ActivityNet Captions' 10,009 training videos: paragraph retrieval."""
    return _paragraphs(clip4clip_msrvtt(), "clip4clip-activitynet")


def muse_clip_activitynet() -> TrainConfig:
    """MUSE's block on ActivityNet Captions."""
    return _paragraphs(muse_clip_msrvtt(), "muse-clip-activitynet")


def _trained_on(base: TrainConfig, name: str, captions: int) -> TrainConfig:
    """Five passes over the `captions` of each video, of which an epoch sees one."""
    changes: Changes = {
        "preset": name,
        "training.epochs": _PASSES * captions,
        "training.validate_every": captions,
    }
    return override(base, changes)


def _paragraphs(base: TrainConfig, name: str) -> TrainConfig:
    """64 frames and 64 words, with a paragraph per video."""
    changes: Changes = {"batch.max_frames": 64, "model.inputs.max_words": 64, "evaluation.batch_rows": 8}
    return override(_trained_on(base, name, captions=1), changes)


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
        "clip4clip-msvd": clip4clip_msvd,
        "muse-clip-msvd": muse_clip_msvd,
        "clip4clip-lsmdc": clip4clip_lsmdc,
        "muse-clip-lsmdc": muse_clip_lsmdc,
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
