"""Presets of MUSE, the variants of its paper's tables, and search spaces."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

from vtr_core.config.blocks.text_encoder import EncoderRecord
from vtr_core.config.caption_text import MSRVTT_CAPTIONS as CAPTIONS
from vtr_core.config.data_sets import BatchConfig
from vtr_core.config.domains import Choice, LogUniform, Variant
from vtr_core.config.losses import InfoNceConfig
from vtr_core.config.override import override
from vtr_core.config.run import TrainConfig
from vtr_core.config.search_space import Parameter, Space
from vtr_core.config.sequence_models import MambaLearner, NoLearner, TemporalLevelsConfig
from vtr_core.config.settings import ModelInputs
from vtr_core.config.training import CLIP4CLIP_ADAM, EvaluationConfig, OptimizerConfig, ScalingConfig, TrainingConfig
from vtr_core.systems.muse.config import MuseConfig, TextWords

Changes = dict[str, Any]


def muse_msrvtt() -> TrainConfig:
    """MUSE on CLIP's tokens at its published sizes: 12 frames of 1 + 7 × 7 tokens, scales 1, 3, 7, 14, four layers.

    Adam at 1e-4, ten times that for the learner over the tokens, batch 128, five passes over all captions (CLIP4Clip's,
    Luo et al. 2021). The temperature starts where CLIP's training ended, at 1/τ = 100, its upper bound, with ten times
    the learning rate as well: otherwise log(1/τ) could change by no more than a quarter in all 5,000 steps. The loss is
    the sum of both cross-entropies, twice the published mean; for Adam this is equivalent, with the clipping norm twice
    the published one as well.
    """
    return TrainConfig(
        preset="muse-msrvtt",
        model=MuseConfig(),
        loss=_loss(temperature=0.01),
        batch=BatchConfig(videos=128, clips_per_video=1, max_frames=12),
        optimizer=OptimizerConfig(
            learning_rate=1e-4,
            learner_factor=10.0,
            temperature_factor=10.0,
            weight_decay=0.2,
            warmup_steps=700,
            gradient_clip=2.0,
        ),
        training=TrainingConfig(epochs=5 * CAPTIONS, validate_every=CAPTIONS),
        evaluation=EvaluationConfig(similarity="cosine", batch_rows=64),
    )


def muse_msrvtt_tiny() -> TrainConfig:
    """Frames of one vector each, at four scales in time, with a small encoder of words, for two CPU cores."""
    levels = TemporalLevelsConfig(hidden_dim=64, num_filters=64, kernel_sizes=(2, 3))
    return TrainConfig(
        preset="muse-msrvtt-tiny",
        model=MuseConfig(
            inputs=ModelInputs(word_dim=64),
            grid=None,
            scales=(1,),
            temporal_scales=(2, 4, 8),
            learner=MambaLearner(layers=2, state=8),
            text=TextWords(levels=levels),
        ),
        loss=_loss(),
        batch=BatchConfig(videos=64, clips_per_video=1),
        optimizer=OptimizerConfig(learning_rate=2e-3, learner_factor=1.0, gradient_clip=2.0),
        training=TrainingConfig(epochs=20, validate_every=5),
        scaling=ScalingConfig(workers=2),
        evaluation=EvaluationConfig(similarity="cosine"),
    )


def muse_tokens_tiny() -> TrainConfig:
    """Frames of [CLS] and 4 × 4 patches with given caption vectors, at three scales, for two CPU cores."""
    return TrainConfig(
        preset="muse-tokens-tiny",
        model=MuseConfig(grid=4, scales=(1, 2, 4), learner=MambaLearner(layers=2, state=8)),
        loss=_loss(),
        batch=BatchConfig(videos=64, clips_per_video=1),
        optimizer=OptimizerConfig(learning_rate=5e-3, schedule="cosine", warmup_steps=30, gradient_clip=2.0),
        training=TrainingConfig(epochs=40, validate_every=5),
        scaling=ScalingConfig(workers=1),
        evaluation=EvaluationConfig(similarity="cosine"),
    )


def muse_variant(base: TrainConfig, name: str) -> TrainConfig:
    """The variant `name` of `base`, a preset of MUSE; its preset is called `<base>-<name>`."""
    assert isinstance(base.model, MuseConfig)
    return override(base, {**MUSE_VARIANTS[name](base.model), "preset": f"{base.preset}-{name}"})


def _loss(temperature: float = 0.05) -> InfoNceConfig:
    """Initial temperature: 0.05 for vectors that are not aligned yet; CLIP's own, 0.01, for CLIP's vectors."""
    return InfoNceConfig(temperature=temperature, learnable_temperature=True, max_scale=100.0)


def _learner(kind: Literal["transformer", "flash", "mamba_out"], model: MuseConfig) -> Changes:
    """Table 4: another video learner of as many layers."""
    assert not isinstance(model.learner, NoLearner)
    return {"model.learner.kind": kind, "model.learner.layers": model.learner.layers}


def _no_learner(model: MuseConfig) -> Changes:  # noqa: ARG001  all variants are called alike
    """Table 8, L = 0: mean pooling of the frames, without other scales, as no layer would read them."""
    return {"model.learner.kind": "none", "model.scales": (1,), "model.temporal_scales": ()}


def _scan(scan: Literal["none", "v1"], model: MuseConfig) -> Changes:  # noqa: ARG001
    """Table 5: one direction, or both with shared projections."""
    return {"model.learner.scan": scan}


def _frame(model: MuseConfig) -> Changes:  # noqa: ARG001
    """Table 6: token order frame by frame."""
    return {"model.aggregation": "frame"}


def _scale(model: MuseConfig) -> Changes:  # noqa: ARG001
    """Table 6: token order scale by scale."""
    return {"model.aggregation": "scale"}


def _spatial(model: MuseConfig) -> Changes:  # noqa: ARG001
    """Table 6: mean over time first, which excludes temporal scales."""
    return {"model.aggregation": "spatial", "model.temporal_scales": ()}


def _scales(count: int, model: MuseConfig) -> Changes:
    """Table 7: the first `count` of the scales 1, 3, 7, 14, 28; for frames of a single vector, of the widths 1, 2, 4,
    8, 16 frames.

    For another grid, 3 and 7 become half the grid's side and the side.
    """
    if model.grid is None:
        return {"model.temporal_scales": (2, 4, 8, 16)[: count - 1]}
    return {"model.scales": (1, model.grid // 2, model.grid, 2 * model.grid, 4 * model.grid)[:count]}


def _layers(layers: int, model: MuseConfig) -> Changes:  # noqa: ARG001
    """Table 8."""
    return {"model.learner.layers": layers}


def _no_residual(model: MuseConfig) -> Changes:  # noqa: ARG001
    """Table 11: layers without residual connections."""
    return {"model.residual": False}


def _published(model: MuseConfig) -> Changes:  # noqa: ARG001
    """The published code's training: a pyramid with fixed random weights, torch's initial weights, CLIP4Clip's
    optimiser and a thousandth of its learning rate for τ.
    """
    optimizer = {f"optimizer.{name}": value for name, value in CLIP4CLIP_ADAM.items()}
    published = {"model.compat": "muse_official", "optimizer.temperature_factor": 1e-3, "optimizer.warmup_steps": 0}
    return {**published, **optimizer}


def _text(model: MuseConfig) -> Changes:  # noqa: ARG001
    """Ours: captions by a pretrained sentence encoder, in whose space tokens of another are brought."""
    return {"model.text.kind": "encoder", "model.token_dim": EncoderRecord().dim}


MUSE_BASES: Mapping[str, Callable[[], TrainConfig]] = MappingProxyType(
    {"muse-msrvtt": muse_msrvtt, "muse-msrvtt-tiny": muse_msrvtt_tiny, "muse-tokens-tiny": muse_tokens_tiny}
)
MUSE_VARIANTS: Mapping[str, Callable[[MuseConfig], Changes]] = MappingProxyType(
    {
        "transformer": partial(_learner, "transformer"),
        "flash": partial(_learner, "flash"),
        "mamba-out": partial(_learner, "mamba_out"),
        "no-learner": _no_learner,
        "scan-none": partial(_scan, "none"),
        "scan-v1": partial(_scan, "v1"),
        "frame": _frame,
        "scale": _scale,
        "spatial": _spatial,
        **{f"scales-{count}": partial(_scales, count) for count in (1, 2, 3, 4, 5)},
        **{f"layers-{layers}": partial(_layers, layers) for layers in (1, 2, 4, 8, 16)},
        "no-residual": _no_residual,
        "published": _published,
        "text": _text,
    }
)
"""The changes of each row of the paper's tables to the base preset."""


def msrvtt() -> Space:
    """The settings compared in the paper's Tables 5 to 8, at its size."""
    return Space(
        name="muse-msrvtt",
        preset="muse-msrvtt",
        parameters={
            "model.scales": Parameter(
                Variant({"1": (1,), "1, 3": (1, 3), "1, 3, 7": (1, 3, 7), "1, 3, 7, 14": (1, 3, 7, 14)})
            ),
            "model.learner.layers": Parameter(Choice((2, 4, 8))),
            "model.learner.scan": Parameter(Choice(("none", "v1", "v2"))),
            "model.aggregation": Parameter(Choice(("scale", "frame", "spatial"))),
            "optimizer.learning_rate": Parameter(LogUniform(2e-5, 5e-4)),
            "optimizer.learner_factor": Parameter(LogUniform(1.0, 30.0)),
        },
        cost="weights",
    )


def msrvtt_tiny() -> Space:
    """The same for temporal scales, on a network that trains in a minute on two cores."""
    return Space(
        name="muse-msrvtt-tiny",
        preset="muse-msrvtt-tiny",
        parameters={
            "model.temporal_scales": Parameter(
                Variant({"none": (), "2": (2,), "2, 4": (2, 4), "2, 4, 8": (2, 4, 8), "2, 4, 8, 16": (2, 4, 8, 16)})
            ),
            "model.learner.layers": Parameter(Choice((1, 2, 4))),
            "model.learner.scan": Parameter(Choice(("none", "v1", "v2"))),
            "model.aggregation": Parameter(Choice(("scale", "frame"))),
            "optimizer.learning_rate": Parameter(LogUniform(5e-4, 1e-2)),
            "optimizer.learner_factor": Parameter(LogUniform(0.1, 10.0)),
        },
        cost="weights",
    )


SPACES: Mapping[str, Callable[[], Space]] = MappingProxyType({"muse-msrvtt": msrvtt, "muse-msrvtt-tiny": msrvtt_tiny})
