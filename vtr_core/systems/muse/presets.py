"""Presets of MUSE, the variants of its paper's tables, and search spaces."""

from functools import partial

from vtr_core.config.data_sets import MSRVTT_CAPTIONS, BatchConfig
from vtr_core.config.losses import InfoNceConfig
from vtr_core.config.override import ModelInputs
from vtr_core.config.pretrained import EncoderRecord
from vtr_core.config.run import (
    CLIP4CLIP_ADAM,
    Change,
    EvaluationConfig,
    OptimizerConfig,
    Row,
    ScalingConfig,
    TrainingConfig,
)
from vtr_core.config.search_space import Choice, LogUniform, Parameter, Space, Variant
from vtr_core.config.towers import (
    FlashLearner,
    MambaLearner,
    MambaOutLearner,
    NoLearner,
    TemporalLevelsConfig,
    TransformerLearner,
)
from vtr_core.systems.muse.config import MuseConfig, TextByEncoder, TextWords
from vtr_core.systems.system import Presets

_LOSS = InfoNceConfig(temperature=0.05, learnable_temperature=True, max_scale=100.0)
"""For vectors that are not aligned yet; CLIP's own temperature is 0.01."""

_BASES = {
    # Adam at 1e-4, ten times that for the learner over the tokens, batch 128, five passes over all captions
    # (CLIP4Clip's, Luo et al. 2021). The temperature starts where CLIP's training ended, at 1/τ = 100, its upper bound,
    # with ten times the learning rate as well: otherwise log(1/τ) could change by no more than a quarter in all 5,000
    # steps. The loss is the sum of both cross-entropies, twice the published mean; for Adam this is equivalent, with
    # the clipping norm twice the published one as well.
    "muse-msrvtt": Row(
        about="MUSE on CLIP's tokens at its published sizes: 12 frames, four scales and layers",
        starter=True,
        model=MuseConfig(),
        loss=InfoNceConfig(temperature=0.01, learnable_temperature=True, max_scale=100.0),
        batch=BatchConfig(videos=128, clips_per_video=1, max_frames=12),
        optimizer=OptimizerConfig(
            learning_rate=1e-4,
            learner_factor=10.0,
            temperature_factor=10.0,
            weight_decay=0.2,
            warmup_steps=700,
            gradient_clip=2.0,
        ),
        training=TrainingConfig(epochs=5 * MSRVTT_CAPTIONS, validate_every=MSRVTT_CAPTIONS),
        evaluation=EvaluationConfig(similarity="cosine", batch_rows=64),
    ),
    "muse-msrvtt-tiny": Row(
        about="MUSE on frames of one vector each, at four scales in time: for two CPU cores",
        starter=True,
        model=MuseConfig(
            inputs=ModelInputs(word_dim=64),
            grid=None,
            scales=(1,),
            temporal_scales=(2, 4, 8),
            learner=MambaLearner(layers=2, state=8),
            text=TextWords(levels=TemporalLevelsConfig(hidden_dim=64, num_filters=64, kernel_sizes=(2, 3))),
        ),
        loss=_LOSS,
        batch=BatchConfig(videos=64, clips_per_video=1),
        optimizer=OptimizerConfig(learning_rate=2e-3, learner_factor=1.0, gradient_clip=2.0),
        training=TrainingConfig(epochs=20, validate_every=5),
        scaling=ScalingConfig(workers=2),
        evaluation=EvaluationConfig(similarity="cosine"),
    ),
    "muse-tokens-tiny": Row(
        about="MUSE on [CLS] and 4 × 4 patches with given caption vectors: for two CPU cores",
        model=MuseConfig(grid=4, scales=(1, 2, 4), learner=MambaLearner(layers=2, state=8)),
        loss=_LOSS,
        batch=BatchConfig(videos=64, clips_per_video=1),
        optimizer=OptimizerConfig(learning_rate=5e-3, schedule="cosine", warmup_steps=30, gradient_clip=2.0),
        training=TrainingConfig(epochs=40, validate_every=5),
        scaling=ScalingConfig(workers=1),
        evaluation=EvaluationConfig(similarity="cosine"),
    ),
}


def _learner(kind: type[TransformerLearner | FlashLearner | MambaOutLearner], model: MuseConfig) -> Change:
    """Another learner of as many layers."""
    assert not isinstance(model.learner, NoLearner)
    return Change(model=MuseConfig(learner=kind(layers=model.learner.layers)))


def _scales(count: int, model: MuseConfig) -> Change:
    """The first `count` of the scales 1, 3, 7, 14, 28; for frames of a single vector, of the widths 1, 2, 4, 8, 16.

    For another grid than 7, 3 and 7 become half the grid's side and the side.
    """
    if model.grid is None:
        return Change(model=MuseConfig(grid=None, scales=(1,), temporal_scales=(2, 4, 8, 16)[: count - 1]))
    scales = (1, model.grid // 2, model.grid, 2 * model.grid, 4 * model.grid)[:count]
    return Change(model=MuseConfig(grid=model.grid, scales=scales))


_VARIANTS = {
    **{
        name: Row(
            about=f"Table 4: {title} in place of Mamba, of as many layers",
            of_model=partial(_learner, learner),
        )
        for name, title, learner in (
            ("transformer", "a transformer", TransformerLearner),
            ("flash", "flash attention", FlashLearner),
            ("mamba-out", "MambaOut's convolutions", MambaOutLearner),
        )
    },
    # Without other scales, as no layer would read them.
    "no-learner": Row(
        about="Table 8, L = 0: mean of frames",
        model=MuseConfig(learner=NoLearner(), scales=(1,), temporal_scales=()),
    ),
    "scan-none": Row(about="Table 5: a scan in one direction", model=MuseConfig(learner=MambaLearner(scan="none"))),
    "scan-v1": Row(
        about="Table 5: both directions share projections", model=MuseConfig(learner=MambaLearner(scan="v1"))
    ),
    "frame": Row(about="Table 6: tokens frame by frame", model=MuseConfig(aggregation="frame")),
    "scale": Row(about="Table 6: tokens scale by scale", model=MuseConfig(aggregation="scale")),
    # Which excludes temporal scales.
    "spatial": Row(about="Table 6: mean over time first", model=MuseConfig(aggregation="spatial", temporal_scales=())),
    **{
        f"scales-{count}": Row(
            about=f"Table 7: the first {count} of the scales 1, 3, 7, 14, 28",
            of_model=partial(_scales, count),
        )
        for count in (1, 2, 3, 4, 5)
    },
    **{
        f"layers-{count}": Row(about=f"Table 8, L = {count}", model=MuseConfig(learner=MambaLearner(layers=count)))
        for count in (1, 2, 4, 8, 16)
    },
    "no-residual": Row(about="Table 11: layers without residual connections", model=MuseConfig(residual=False)),
    # A pyramid with fixed random weights, torch's initial weights, CLIP4Clip's optimiser and a thousandth of its
    # learning rate for τ.
    "published": Row(
        about="as the published code trains",
        model=MuseConfig(compat="muse_official"),
        optimizer=OptimizerConfig(temperature_factor=1e-3, warmup_steps=0, **CLIP4CLIP_ADAM),
    ),
    "text": Row(
        about="captions by a pretrained sentence encoder",
        model=MuseConfig(text=TextByEncoder(), token_dim=EncoderRecord().dim),
    ),
}

MUSE_PRESETS = Presets(
    _BASES,
    _VARIANTS,
    spaces=(
        Space(  # the settings compared in the paper's Tables 5 to 8, at its size
            "muse-msrvtt",
            "muse-msrvtt",
            {
                "model.scales": Parameter(
                    Variant({"1": (1,), "1, 3": (1, 3), "1, 3, 7": (1, 3, 7), "1, 3, 7, 14": (1, 3, 7, 14)})
                ),
                "model.learner.layers": Parameter(Choice((2, 4, 8))),
                "model.learner.scan": Parameter(Choice(("none", "v1", "v2"))),
                "model.aggregation": Parameter(Choice(("scale", "frame", "spatial"))),
                "optimizer.learning_rate": Parameter(LogUniform(2e-5, 5e-4)),
                "optimizer.learner_factor": Parameter(LogUniform(1.0, 30.0)),
            },
        ),
        Space(  # the same for temporal scales
            "muse-msrvtt-tiny",
            "muse-msrvtt-tiny",
            {
                "model.temporal_scales": Parameter(
                    Variant({"none": (), "2": (2,), "2, 4": (2, 4), "2, 4, 8": (2, 4, 8), "2, 4, 8, 16": (2, 4, 8, 16)})
                ),
                "model.learner.layers": Parameter(Choice((1, 2, 4))),
                "model.learner.scan": Parameter(Choice(("none", "v1", "v2"))),
                "model.aggregation": Parameter(Choice(("scale", "frame"))),
                "optimizer.learning_rate": Parameter(LogUniform(5e-4, 1e-2)),
                "optimizer.learner_factor": Parameter(LogUniform(0.1, 10.0)),
            },
        ),
    ),
    most_used=("model.learner.kind", "model.learner.layers", "loss.temperature", "batch.max_frames"),
    own_settings=("optimizer.learner_factor",),
)
