"""Presets of the captioner, the variants of its paper's Table 2, and search spaces."""

from vtr_core.config.data_sets import MSRVTT_CAPTIONS, BatchConfig
from vtr_core.config.losses import FusionConfig, GranularityMarginConfig
from vtr_core.config.pretrained import SwinConfig
from vtr_core.config.run import EvaluationConfig, OptimizerConfig, Row, ScalingConfig, TrainingConfig
from vtr_core.config.search_space import Choice, LogUniform, Parameter, Space, Uniform
from vtr_core.systems.captioning.config import CaptionerConfig, CaptioningLossConfig, DecodingConfig
from vtr_core.systems.system import Presets

_MSVD_CAPTIONS = 40
_SWIN = SwinConfig(recompute=True)
_TINY_SWIN = SwinConfig(image_size=32, frames=8, width=32, depths=(2, 2), heads=(2, 4))
_GENERATION = CaptioningLossConfig(fusion=False, granularity_margin=None)
"""L_gen alone."""

_BASES = {
    # The published learning rate, 1e-5, is for fine-tuning a transformer pre-trained on other videos; for training from
    # scratch it is 2e-4, and frames are standardised. Variant `published` has the paper's.
    "caption-msrvtt": Row(
        about="a captioner with all four losses at the published sizes: width 768, batch 48",
        starter=True,
        model=CaptionerConfig(standardize=True, decoding=DecodingConfig(beams=4)),
        loss=CaptioningLossConfig(),
        batch=BatchConfig(videos=48, clips_per_video=1),
        optimizer=OptimizerConfig(learning_rate=2e-4, weight_decay=0.01, warmup_steps=1000, gradient_clip=1.0),
        training=TrainingConfig(epochs=20 * MSRVTT_CAPTIONS, validate_every=MSRVTT_CAPTIONS, metric="val/cider"),
        evaluation=EvaluationConfig(batch_rows=64),
    ),
    "caption-msvd": Row(
        about="the same for MSVD's 1,200 training videos of about 40 captions",
        like=("caption-msrvtt",),
        loss=CaptioningLossConfig(granularity_margin=GranularityMarginConfig(warmup_steps=6000)),
        training=TrainingConfig(epochs=20 * _MSVD_CAPTIONS, validate_every=_MSVD_CAPTIONS),
    ),
    # The published learning rate, which is for `--model.backbone.weights FILE`. Activations of Video Swin are
    # recomputed in the backward pass.
    "caption-swin-msrvtt": Row(
        about="Video Swin-B and a transformer of BERT's size on frames (Gu and Yao 2023)",
        like=("caption-msrvtt",),
        model=CaptionerConfig(layout="bert", standardize=False, backbone=_SWIN),
        batch=BatchConfig(max_frames=_SWIN.frames),
        optimizer=OptimizerConfig(learning_rate=1e-5),
        evaluation=EvaluationConfig(batch_rows=8),
    ),
    # Frames are not standardised, so that a run that begins with it keeps the statistics of its own.
    "caption-pretrain": Row(
        about="captions alone, without features, to begin caption-msrvtt --init RUN with",
        like=("caption-msrvtt",),
        varied=False,
        model=CaptionerConfig(standardize=False),
        loss=_GENERATION,
    ),
    # The mask rate is 50 %, because 15 % of the words give too little signal in so few steps; a pair's score is the
    # cosine of its mean tokens, with a cosine's temperature, and the extractor is trained for a quarter of the steps.
    # At full weight the contrastive losses would prevent the generation loss from decreasing in so short a training.
    "caption-msrvtt-tiny": Row(
        about="a small captioner for a few hundred videos and two CPU cores",
        starter=True,
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
    ),
    "caption-swin-tiny": Row(
        about="caption-msrvtt-tiny with a small Video Swin on frames of 32 × 32 pixels",
        like=("caption-msrvtt-tiny",),
        model=CaptionerConfig(standardize=False, video_tokens=None, backbone=_TINY_SWIN, stored_size=32),
        batch=BatchConfig(videos=32, max_frames=_TINY_SWIN.frames),
    ),
    "caption-pretrain-tiny": Row(
        about="captions alone at the size of caption-msrvtt-tiny",
        like=("caption-msrvtt-tiny",),
        varied=False,
        model=CaptionerConfig(standardize=False),
        loss=_GENERATION,
    ),
}

_VARIANTS = {
    "baseline": Row(about="Table 2: L_gen alone", loss=_GENERATION),
    "margin": Row(about="Table 2: with L_mcl and L_b", loss=CaptioningLossConfig(fusion=False)),
    "fusion": Row(about="Table 2: with L_bfc", loss=CaptioningLossConfig(granularity_margin=None)),
    "published": Row(
        about="the paper's learning rate, for a pre-trained transformer",
        model=CaptionerConfig(standardize=False),
        optimizer=OptimizerConfig(learning_rate=1e-5),
    ),
    "spatial": Row(
        about="all 16 × 7 × 7 places of Video Swin's features",
        model=CaptionerConfig(backbone=None, feature="video_swin", grid=7),
        batch=BatchConfig(max_frames=784),
    ),
}

CAPTION_PRESETS = Presets(
    _BASES,
    _VARIANTS,
    spaces=(
        Space(  # the settings compared in the paper's Table 2, at its size
            "caption-msrvtt",
            "caption-msrvtt",
            {
                "model.mask_rate": Parameter(Uniform(0.15, 0.5)),
                "loss.score.score": Parameter(Choice(("fusion", "cosine"))),
                "loss.score.weight": Parameter(LogUniform(0.05, 2.0)),
                "loss.granularity_margin.reading": Parameter(Choice(("leave_one_out", "corpus", "idf"))),
                "loss.granularity_margin.weight": Parameter(LogUniform(0.02, 1.0)),
                "loss.granularity_margin.warmup_steps": Parameter(Choice((6000, 14000))),
                "optimizer.learning_rate": Parameter(LogUniform(3e-6, 1e-4)),
            },
        ),
        Space(
            "caption-msrvtt-tiny",
            "caption-msrvtt-tiny",
            {
                "model.mask_rate": Parameter(Uniform(0.15, 0.7)),
                "model.layers": Parameter(Choice((1, 2, 4))),
                "model.hidden_dim": Parameter(Choice((64, 128, 256))),
                "loss.score.weight": Parameter(LogUniform(0.02, 1.0)),
                "loss.granularity_margin.reading": Parameter(Choice(("leave_one_out", "corpus", "idf"))),
                "loss.granularity_margin.weight": Parameter(LogUniform(0.02, 1.0)),
                "optimizer.learning_rate": Parameter(LogUniform(3e-4, 5e-3)),
            },
        ),
    ),
    most_used=("model.mask_rate", "model.hidden_dim", "model.layers", "model.decoding.beams", "batch.max_frames"),
    own_settings=("optimizer.backbone_factor", "optimizer.layer_decay"),
)
