"""Presets of the dual encoder, the variants of the thesis's tables, and search spaces."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from vtr_core.config.caption_text import MSRVTT_CAPTIONS as CAPTIONS
from vtr_core.config.caption_text import PUBLISHED_CAPTIONS
from vtr_core.config.data_sets import BatchConfig
from vtr_core.config.domains import Choice, LogUniform, Uniform
from vtr_core.config.override import override
from vtr_core.config.run import TrainConfig
from vtr_core.config.search_space import Parameter, Space
from vtr_core.config.sequence_models import TemporalLevelsConfig
from vtr_core.config.settings import ModelInputs
from vtr_core.config.training import OptimizerConfig, ScalingConfig, TrainingConfig
from vtr_core.systems.dual.config import DualTripletConfig, HybridEncoderConfig

Changes = dict[str, Any]


def hybrid_msrvtt() -> TrainConfig:
    """The hybrid at its published sizes: latent 1536, 512 concepts, Adam 1e-4, batch 128, lr × .99 an epoch."""
    return TrainConfig(
        preset="hybrid-msrvtt",
        model=HybridEncoderConfig(),
        loss=DualTripletConfig(),
        batch=BatchConfig(videos=128, clips_per_video=1),
        optimizer=OptimizerConfig(
            learning_rate=1e-4,
            schedule="constant",
            gradient_clip=2.0,
            epoch_decay=0.99,
            decay_epochs=CAPTIONS,
            plateau_decay=0.5,
            plateau_patience=3,
        ),
        training=TrainingConfig(epochs=50 * CAPTIONS, validate_every=CAPTIONS, patience=10),
    )


def hybrid_msrvtt_tiny() -> TrainConfig:
    """The same network small enough for two CPU cores and a minute."""
    levels = TemporalLevelsConfig(hidden_dim=32, num_filters=48, kernel_sizes=(2, 3))
    return TrainConfig(
        preset="hybrid-msrvtt-tiny",
        model=HybridEncoderConfig(
            inputs=ModelInputs(word_dim=64), latent_dim=128, num_concepts=32, video=levels, text=levels
        ),
        loss=DualTripletConfig(),
        batch=BatchConfig(videos=64, clips_per_video=1),
        optimizer=OptimizerConfig(learning_rate=1e-3, schedule="constant", gradient_clip=2.0, epoch_decay=0.99),
        training=TrainingConfig(epochs=20, validate_every=5),
        scaling=ScalingConfig(workers=2),
    )


def _published(base: TrainConfig) -> TrainConfig:
    """Padding, repeated captions, initial weights, epochs and learning rate schedule of the published code, and words
    and concepts of the thesis. An epoch of that code is `CAPTIONS` of ours: as many captions, each once, but no video
    twice in a batch.
    """
    changes = {
        "preset": f"{base.preset}-published",
        "model.compat": "hybrid_space",
        "model.initialization": "hybrid_space",
        "loss.compat": "hybrid_space",
        "captions": PUBLISHED_CAPTIONS.model_dump(),
        "concepts.parts": "n,v,j,a,p,c",
        "concepts.stop_words": "nltk",
        "batch.captions": "every",
        "batch.remainder": "filled",
        "optimizer.plateau": "old_rate",
    }
    return override(base, changes)


def dual_variant(base: TrainConfig, name: str) -> TrainConfig:
    """The variant `name` of `base`, a preset of a dual encoder; its preset is called `<base>-<name>`."""
    assert isinstance(base.model, HybridEncoderConfig)
    return override(base, {**DUAL_VARIANTS[name](base.model), "preset": f"{base.preset}-{name}"})


def _latent(model: HybridEncoderConfig) -> Changes:
    """Table 5.3, latent alone: as many dimensions as both spaces have together."""
    return {"model.latent_dim": (model.latent_dim or 0) + (model.num_concepts or 0), "model.num_concepts": None}


def _concept(model: HybridEncoderConfig) -> Changes:  # noqa: ARG001  all variants are called alike
    """Table 5.3, K-d Jaccard."""
    return {"model.latent_dim": None}


def _concept_half(model: HybridEncoderConfig) -> Changes:
    """Table 5.3, 256-d Jaccard: half the base's concepts."""
    return {"model.latent_dim": None, "model.num_concepts": (model.num_concepts or 0) // 2}


def _cosine(model: HybridEncoderConfig) -> Changes:
    """Table 5.3, K-d cosine."""
    return {**_concept(model), "model.concept_similarity": "cosine"}


def _cosine_half(model: HybridEncoderConfig) -> Changes:
    """Table 5.3, 256-d cosine: half the base's concepts."""
    return {**_concept_half(model), "model.concept_similarity": "cosine"}


def _text(model: HybridEncoderConfig) -> Changes:  # noqa: ARG001
    """Ours: a pretrained sentence encoder's vector as a fourth level of the text."""
    return {"model.text_encoder": "bundled"}


def _causal(model: HybridEncoderConfig) -> Changes:
    """Ours: concept space only, with a low prior and more weight on detection, so that ten concepts carry a match."""
    return {
        **_concept(model),
        "model.concept_prior": 0.1,
        "loss.concept_weight_factor": 8.0,
        "loss.causality_weight": 5.0,
    }


def _homogeneous(model: HybridEncoderConfig) -> Changes:  # noqa: ARG001
    """Table 4.1, coupled homogeneous: the second space is a latent one as well, with the same similarity."""
    return {"model.concept_similarity": "cosine", "loss.concept_weight": 0.0}


def _heterogeneous(model: HybridEncoderConfig) -> Changes:  # noqa: ARG001
    """Table 4.1, coupled heterogeneous: the second space is a latent one, compared by Jaccard."""
    return {"loss.concept_weight": 0.0}


def _equal(model: HybridEncoderConfig) -> Changes:
    """Section 4.4: K + K dimensions, so that two spaces of one size are compared (512 + 512)."""
    return {"model.latent_dim": model.num_concepts}


def _equal_latent(model: HybridEncoderConfig) -> Changes:
    """Table 4.1, latent independent: the scores of two such trainings are added."""
    return {**_equal(model), "model.num_concepts": None}


def _equal_homogeneous(model: HybridEncoderConfig) -> Changes:
    return {**_equal(model), **_homogeneous(model)}


def _equal_heterogeneous(model: HybridEncoderConfig) -> Changes:
    return {**_equal(model), **_heterogeneous(model)}


def _latent_alone(model: HybridEncoderConfig) -> Changes:  # noqa: ARG001
    """Table 4.1, the hybrid's latent space trained alone."""
    return {"model.num_concepts": None}


def _pos_text(model: HybridEncoderConfig) -> Changes:  # noqa: ARG001
    """Figure 3.3: words with their part of speech in the bag of words and in the embedding."""
    return {"captions.tagged": True}


def _pos_concepts(model: HybridEncoderConfig) -> Changes:  # noqa: ARG001
    """Figure 3.2: concepts with their part of speech."""
    return {"concepts.pos": True}


def _pos(model: HybridEncoderConfig) -> Changes:
    """Table 3.2, a dual encoder with PoS tags in text and concepts; the tagger is that of the data."""
    return {**_pos_text(model), **_pos_concepts(model)}


def _concept_pos(model: HybridEncoderConfig) -> Changes:
    """Tables 3.2 to 3.4, concept-only training with PoS tags."""
    return {**_concept(model), **_pos(model)}


def _concept_pos_text(model: HybridEncoderConfig) -> Changes:
    return {**_concept(model), **_pos_text(model)}


def _concept_pos_concepts(model: HybridEncoderConfig) -> Changes:
    return {**_concept(model), **_pos_concepts(model)}


def _binary(model: HybridEncoderConfig) -> Changes:  # noqa: ARG001
    """Section 3.2.1: the hybrid with binary labels."""
    return {"loss.labels": "binary"}


def _interpretable(model: HybridEncoderConfig) -> Changes:
    """Table 3.4, interpretable embedding in its single task (Wu and Ngo 2020): concepts with binary labels, learned by
    detection alone. Theirs has 11,147 concepts (--model.num_concepts) and its own visual features."""
    return {**_concept(model), **_binary(model), "loss.ranks_concepts": False}


DUAL_BASES: Mapping[str, Callable[[], TrainConfig]] = MappingProxyType(
    {
        "hybrid-msrvtt": hybrid_msrvtt,
        "hybrid-msrvtt-tiny": hybrid_msrvtt_tiny,
        "hybrid-msrvtt-published": lambda: _published(hybrid_msrvtt()),
        "hybrid-msrvtt-tiny-published": lambda: _published(hybrid_msrvtt_tiny()),
    }
)
"""The published ones are bases, so that every row of the thesis's tables can be trained as published."""
DUAL_VARIANTS: Mapping[str, Callable[[HybridEncoderConfig], Changes]] = MappingProxyType(
    {
        "latent": _latent,
        "concept": _concept,
        "concept-256": _concept_half,
        "cosine": _cosine,
        "cosine-256": _cosine_half,
        "causal": _causal,
        "homogeneous": _homogeneous,
        "heterogeneous": _heterogeneous,
        "latent-alone": _latent_alone,
        "equal": _equal,
        "equal-latent": _equal_latent,
        "equal-homogeneous": _equal_homogeneous,
        "equal-heterogeneous": _equal_heterogeneous,
        "pos": _pos,
        "pos-text": _pos_text,
        "pos-concepts": _pos_concepts,
        "concept-pos": _concept_pos,
        "concept-pos-text": _concept_pos_text,
        "concept-pos-concepts": _concept_pos_concepts,
        "binary": _binary,
        "interpretable": _interpretable,
        "text": _text,
    }
)
"""The changes of each row of the thesis's tables to the base preset."""


_LOG_GRID = (32, 64, 128, 256, 512, 1024, 2048)
_OCTAVES = tuple(round(16 * 2 ** (number / 10)) for number in range(121))
"""Ten values per octave from 16 to 65,536 (Figures 4.1 to 4.3)."""


def msrvtt() -> Space:
    """The hybrid at the size of the publication."""
    return Space(
        name="hybrid-msrvtt",
        preset="hybrid-msrvtt",
        parameters={
            "model.latent_dim": Parameter(Choice((512, 1024, 1536, 2048))),
            "model.num_concepts": Parameter(Choice((128, 256, 512, 1024))),
            "model.concept_similarity": Parameter(Choice(("jaccard", "cosine"))),
            "evaluation.latent_weight": Parameter(Uniform(0.0, 1.0)),
            "loss.margin": Parameter(Uniform(0.05, 0.4)),
            "optimizer.learning_rate": Parameter(LogUniform(2e-5, 1e-3)),
        },
        cost="weights",
    )


def msrvtt_tiny() -> Space:
    """The same settings, on a network that trains in a minute on two cores."""
    return Space(
        name="hybrid-msrvtt-tiny",
        preset="hybrid-msrvtt-tiny",
        parameters={
            "model.latent_dim": Parameter(Choice((16, 32, 64, 128))),
            "model.num_concepts": Parameter(Choice((8, 16, 32))),
            "model.concept_similarity": Parameter(Choice(("jaccard", "cosine"))),
            "evaluation.latent_weight": Parameter(Uniform(0.0, 1.0)),
            "loss.margin": Parameter(Uniform(0.05, 0.4)),
            "optimizer.learning_rate": Parameter(LogUniform(2e-4, 5e-3)),
        },
        cost="weights",
    )


def latent_dimensions() -> Space:
    """The dimension study of chapter 4: the latent space alone, on a logarithmic grid (vtr sweep … --search grid)."""
    return Space(
        name="latent-dimensions",
        preset="hybrid-msrvtt-latent",
        parameters={"model.latent_dim": Parameter(Choice(_LOG_GRID))},
        cost="weights",
    )


def concept_dimensions() -> Space:
    """The dimension study of the concept space alone."""
    return Space(
        name="concept-dimensions",
        preset="hybrid-msrvtt-concept",
        parameters={"model.num_concepts": Parameter(Choice(_LOG_GRID))},
        cost="weights",
    )


def latent_octaves() -> Space:
    """The dimension study of the latent space on the thesis's own grid: ten values per octave from 16 to 65,536."""
    return replace(
        latent_dimensions(), name="latent-octaves", parameters={"model.latent_dim": Parameter(Choice(_OCTAVES))}
    )


def concept_octaves() -> Space:
    """The same grid for concepts; a trial with more concepts than the corpus has ends in an error."""
    parameters = {"model.num_concepts": Parameter(Choice(_OCTAVES))}
    return replace(concept_dimensions(), name="concept-octaves", parameters=parameters)


SPACES: Mapping[str, Callable[[], Space]] = MappingProxyType(
    {
        "hybrid-msrvtt": msrvtt,
        "hybrid-msrvtt-tiny": msrvtt_tiny,
        "latent-dimensions": latent_dimensions,
        "concept-dimensions": concept_dimensions,
        "latent-octaves": latent_octaves,
        "concept-octaves": concept_octaves,
    }
)
