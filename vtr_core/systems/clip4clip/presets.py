"""Presets of CLIP4Clip and of MUSE's block within it, and variants."""

from collections.abc import Mapping
from typing import Any

from vtr_core.config.data_sets import MSRVTT_CAPTIONS, BatchConfig
from vtr_core.config.losses import InfoNceConfig
from vtr_core.config.override import ModelInputs
from vtr_core.config.pretrained import ClipConfig, TransformerSize
from vtr_core.config.run import CLIP4CLIP_ADAM, EvaluationConfig, OptimizerConfig, Row, ScalingConfig, TrainingConfig
from vtr_core.config.towers import MambaLearner
from vtr_core.systems.clip4clip.config import Clip4ClipConfig, MuseFrames, SequenceTransformer
from vtr_core.systems.system import Presets

_PASSES = 5
"""Over all captions of any data set, as published; an epoch sees one caption of each video."""


def _captions(count: int) -> TrainingConfig:
    """The training on videos of so many captions."""
    return TrainingConfig(epochs=_PASSES * count, validate_every=count)


_PARAGRAPHS: Mapping[str, Any] = {
    "model": Clip4ClipConfig(inputs=ModelInputs(max_words=64)),
    "batch": BatchConfig(max_frames=64),
    "training": _captions(1),
    "evaluation": EvaluationConfig(batch_rows=8),
}
"""All sentences of a video as one text of 64 words, with 64 frames."""
_DATA_SETS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "didemo": ("paragraphs of DiDeMo's 8,395 training videos", _PARAGRAPHS),
    "activitynet": ("paragraphs of ActivityNet Captions' 10,009 training videos", _PARAGRAPHS),
    "msvd": ("MSVD's 1,200 training videos of about 41 captions", {"training": _captions(41)}),
}
_TINY = TransformerSize(width=64, layers=2, heads=4)

_BASES = {
    # A rate of 1e-7 of CLIP and its temperature and 1e-4 of what is new, warm-up over a tenth of the steps, then a
    # cosine, BERT's Adam and its clipping. The temperature begins where CLIP's training ended.
    "clip4clip-msrvtt": Row(
        about="CLIP4Clip at its published sizes (Luo et al. 2021): ViT-B/32, 12 frames, meanP",
        starter=True,
        model=Clip4ClipConfig(),
        loss=InfoNceConfig(temperature=0.01, learnable_temperature=True, max_scale=100.0),
        batch=BatchConfig(videos=128, clips_per_video=1, max_frames=12),
        optimizer=OptimizerConfig(
            learning_rate=1e-4, backbone_factor=1e-3, temperature_factor=1e-3, weight_decay=0.2, **CLIP4CLIP_ADAM
        ),
        training=_captions(MSRVTT_CAPTIONS),
        evaluation=EvaluationConfig(similarity="cosine", batch_rows=32),
    ),
    "muse-clip-msrvtt": Row(
        about="the same with MUSE's block: four scales and layers (Tang et al. 2025)",
        like=("clip4clip-msrvtt",),
        model=Clip4ClipConfig(frames=MuseFrames()),
        optimizer=OptimizerConfig(learner_factor=10.0),
    ),
    **{
        f"{system}-{data_set}": Row(about=f"{system}-msrvtt for {about}", like=(f"{system}-msrvtt",), **settings)
        for data_set, (about, settings) in _DATA_SETS.items()
        for system in ("clip4clip", "muse-clip")
    },
    "clip4clip-tiny": Row(
        about="a small CLIP from random weights on frames of 32 × 32 pixels: for two CPU cores",
        starter=True,
        model=Clip4ClipConfig(
            inputs=ModelInputs(max_words=20),
            backbone=ClipConfig(image_size=32, patch=8, vision=_TINY, text=_TINY, context=34, embedding_dim=64),
            stored_size=32,
        ),
        loss=InfoNceConfig(temperature=0.05, learnable_temperature=True, max_scale=100.0),
        batch=BatchConfig(videos=32, clips_per_video=1, max_frames=6),
        optimizer=OptimizerConfig(learning_rate=1e-3, weight_decay=0.01, warmup_steps=20, gradient_clip=2.0),
        training=TrainingConfig(epochs=30, validate_every=5),
        scaling=ScalingConfig(workers=2),
        evaluation=EvaluationConfig(similarity="cosine"),
    ),
    "muse-clip-tiny": Row(
        about="the same with MUSE's block over three scales of 4 × 4 patches",
        like=("clip4clip-tiny",),
        model=Clip4ClipConfig(frames=MuseFrames(scales=(1, 2, 4), learner=MambaLearner(layers=2, state=8))),
    ),
}

CLIP4CLIP_PRESETS = Presets(
    _BASES,
    {
        "seq-transf": Row(about="a transformer over the frames", model=Clip4ClipConfig(frames=SequenceTransformer())),
        "frozen": Row(about="a CLIP that is not trained", model=Clip4ClipConfig(backbone=ClipConfig(freeze="all"))),
    },
    most_used=(
        "model.backbone.source",
        "model.backbone.weights",
        "model.backbone.freeze",
        "model.frames.kind",
        "optimizer.backbone_factor",
        "loss.temperature",
        "batch.max_frames",
        "batch.micro_rows",
    ),
    own_settings=("optimizer.backbone_factor", "optimizer.layer_decay", "optimizer.learner_factor"),
)
