"""Presets of the captioner, the variants of its paper's Table 2, and search spaces."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from vtr_core.config.caption_text import MSRVTT_CAPTIONS as CAPTIONS
from vtr_core.config.data_sets import BatchConfig
from vtr_core.config.domains import Choice, LogUniform, Uniform
from vtr_core.config.losses import FusionConfig, GranularityMarginConfig
from vtr_core.config.override import override
from vtr_core.config.pretrained import SwinConfig
from vtr_core.config.run import TrainConfig
from vtr_core.config.search_space import Parameter, Space
from vtr_core.config.training import EvaluationConfig, OptimizerConfig, ScalingConfig, TrainingConfig
from vtr_core.systems.captioning.config import CaptionerConfig, CaptioningLossConfig, DecodingConfig

Changes = dict[str, Any]
_PRETRAIN: Changes = {"loss.fusion": False, "loss.granularity_margin": None, "model.standardize": False}


def caption_msrvtt() -> TrainConfig:
    """All four losses at the published sizes: width 768, batch 48, the extractor trained for 14,000 steps.

    The published learning rate, 1e-5, is for fine-tuning a transformer pre-trained on other videos; for training from
    scratch it is 2e-4, and frames are standardised. Variant `published` has the paper's.
    """
    return TrainConfig(
        preset="caption-msrvtt",
        model=CaptionerConfig(standardize=True, decoding=DecodingConfig(beams=4)),
        loss=CaptioningLossConfig(),
        batch=BatchConfig(videos=48, clips_per_video=1),
        optimizer=OptimizerConfig(learning_rate=2e-4, weight_decay=0.01, warmup_steps=1000, gradient_clip=1.0),
        training=TrainingConfig(epochs=20 * CAPTIONS, validate_every=CAPTIONS, metric="val/cider"),
        evaluation=EvaluationConfig(batch_rows=64),
    )


def caption_msvd() -> TrainConfig:
    """The same on MSVD's 1,200 training videos of about 40 captions, the extractor trained for 6,000 steps."""
    captions = 40
    return override(
        caption_msrvtt(),
        {
            "preset": "caption-msvd",
            "loss.granularity_margin.warmup_steps": 6000,
            "training.epochs": 20 * captions,
            "training.validate_every": captions,
        },
    )


def caption_swin_msrvtt() -> TrainConfig:
    """Video Swin-B and a transformer of BERT-base's size, trained together from frames (Gu and Yao 2023).

    32 frames of 224 × 224 pixels; the published learning rate, which is for `--model.backbone.weights FILE` and for
    weights of BERT or LAVENDER by `--init`. Activations of Video Swin are recomputed in the backward pass.
    """
    swin = SwinConfig(recompute=True)
    return override(
        caption_msrvtt(),
        {
            "preset": "caption-swin-msrvtt",
            "model.layout": "bert",
            "model.standardize": False,
            "model.backbone": swin.model_dump(),
            "batch.max_frames": swin.frames,
            "optimizer.learning_rate": 1e-5,
            "evaluation.batch_rows": 8,
        },
    )


def caption_swin_tiny() -> TrainConfig:
    """A Video Swin of two stages from random weights on 8 pictures of 32 × 32, for two CPU cores."""
    swin = SwinConfig(image_size=32, frames=8, width=32, depths=(2, 2), heads=(2, 4))
    changes: Changes = {
        "preset": "caption-swin-tiny",
        "model.standardize": False,
        "model.video_tokens": None,
        "model.backbone": swin.model_dump(),
        "model.stored_size": 32,
        "batch.videos": 32,
        "batch.max_frames": swin.frames,
    }
    return override(caption_msrvtt_tiny(), changes)


def caption_pretrain() -> TrainConfig:
    """L_gen alone, on captions whose videos need no features, for `vtr train caption-msrvtt --init RUN` to begin with.

    Frames are not standardised, so that a run that begins with it keeps the statistics of its own.
    """
    return override(caption_msrvtt(), {**_PRETRAIN, "preset": "caption-pretrain"})


def caption_pretrain_tiny() -> TrainConfig:
    """The same at the size of `caption-msrvtt-tiny`."""
    return override(caption_msrvtt_tiny(), {**_PRETRAIN, "preset": "caption-pretrain-tiny"})


def caption_msrvtt_tiny() -> TrainConfig:
    """A small transformer for a few hundred videos and two CPU cores.

    The mask rate is 50 %, because 15 % of the words give too little signal in so few steps; a pair's score is the
    cosine of its mean tokens, with a cosine's temperature, and the extractor is trained for a quarter of the steps. At
    full weight the contrastive losses would prevent the generation loss from decreasing in so short a training.
    """
    return TrainConfig(
        preset="caption-msrvtt-tiny",
        model=CaptionerConfig(
            video_tokens=10,
            standardize=True,
            hidden_dim=128,
            layers=2,
            heads=4,
            mlp_dim=512,
            mask_rate=0.5,
            decoding=DecodingConfig(beams=3),
        ),
        loss=CaptioningLossConfig(
            score=FusionConfig(score="cosine", temperature=0.07, weight=0.1, heads=4),
            granularity_margin=GranularityMarginConfig(warmup_steps=240, weight=0.05),
        ),
        batch=BatchConfig(videos=64, clips_per_video=1),
        optimizer=OptimizerConfig(learning_rate=1e-3, weight_decay=0.01, warmup_steps=30, gradient_clip=1.0),
        training=TrainingConfig(epochs=120, validate_every=30, metric="val/cider"),
        scaling=ScalingConfig(workers=2),
    )


def caption_variant(base: TrainConfig, name: str) -> TrainConfig:
    """The variant `name` of `base`, a preset of the captioner; its preset is called `<base>-<name>`."""
    return override(base, {**CAPTION_VARIANTS[name], "preset": f"{base.preset}-{name}"})


CAPTION_BASES: Mapping[str, Callable[[], TrainConfig]] = MappingProxyType(
    {
        "caption-msrvtt": caption_msrvtt,
        "caption-msvd": caption_msvd,
        "caption-swin-msrvtt": caption_swin_msrvtt,
        "caption-pretrain": caption_pretrain,
        "caption-msrvtt-tiny": caption_msrvtt_tiny,
        "caption-swin-tiny": caption_swin_tiny,
        "caption-pretrain-tiny": caption_pretrain_tiny,
    }
)
CAPTION_VARIANTS: Mapping[str, Changes] = MappingProxyType(
    {
        "baseline": {"loss.fusion": False, "loss.granularity_margin": None},
        "margin": {"loss.fusion": False},
        "fusion": {"loss.granularity_margin": None},
        "published": {"optimizer.learning_rate": 1e-5, "model.standardize": False},
        "spatial": {"model.backbone": None, "model.feature": "video_swin", "model.grid": 7, "batch.max_frames": 784},
    }
)
"""Table 2: L_gen alone; with L_mcl and L_b; with L_bfc; the base itself has all of them. `published` has the paper's
learning rate, for a pre-trained transformer; `spatial` reads Video Swin's 16 × 7 × 7 places.
"""


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
