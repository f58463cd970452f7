"""MUSE's configuration: a pyramid of scales and a sequence learner; and the `System` of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, NonNegativeFloat, model_validator

from vtr_core.config.override import Length, ModelInputs, PositiveInt, Probability, Settings
from vtr_core.config.pretrained import EncoderRecord, NamedEncoder
from vtr_core.config.run import ModelConfig
from vtr_core.config.towers import (
    Aggregation,
    LearnerConfig,
    MambaLearner,
    NoLearner,
    NormPlace,
    TemporalLevelsConfig,
)
from vtr_core.errors import ConfigError
from vtr_core.systems.system import System, columns, imported, never

if TYPE_CHECKING:
    from vtr_core.config.run import TrainConfig


Compat = Literal["none", "muse_official"]


class TextVectors(Settings):
    """Captions as vectors in the space of the tokens, such as CLIP's [EOT], from a feature column."""

    kind: Literal["vectors"] = "vectors"
    feature: Literal["text"] = "text"
    """The feature column with a vector for each caption of a video; its dimension is that of the tokens."""


class TextWords(Settings):
    """A small text encoder trained with the model: bag of words, biGRU, convolutions, and a linear layer."""

    kind: Literal["words"] = "words"
    levels: TemporalLevelsConfig = TemporalLevelsConfig(hidden_dim=256, num_filters=256, kernel_sizes=(2, 3))
    dropout: Probability = 0.2
    """Dropout on the outputs of GRU and convolutions."""
    train_vectors: bool = True
    """Train given word vectors too; without given ones a vocabulary's vectors are always trained."""


class TextByEncoder(Settings):
    """Captions as vectors of a pretrained encoder, which is not trained, and a linear layer where dimensions differ."""

    kind: Literal["encoder"] = "encoder"
    encoder: NamedEncoder = EncoderRecord()
    """The encoder, by its name; for tokens in its own space, such as CLIP's, its vectors are taken as they are."""
    dropout: Probability = 0.0
    """Dropout on the vectors before a linear layer."""


TextConfig = Annotated[TextVectors | TextWords | TextByEncoder, Field(discriminator="kind")]


class MuseConfig(ModelConfig):
    """Multi-scale Mamba for text-video retrieval (Tang et al. 2025)."""

    kind: Literal["muse"] = "muse"
    inputs: ModelInputs = ModelInputs(word_dim=300, max_words=32)
    feature: str = "video"
    """The feature column of frames: a vector of (1 + grid²) · dim values, [CLS] followed by the grid's patches row by
    row; without a grid a single vector per frame.
    """
    grid: Length | None = 7
    """Patches per side of a frame (None: a frame is a single vector)."""
    token_dim: PositiveInt | None = None
    """Tokens of a network that was not trained with captions: standardised with the training data's statistics, and
    mapped to so many values by a trained linear layer. None: tokens as they are, such as CLIP's.
    """
    scales: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = (1, 3, 7, 14)
    """Sides of the grids of a frame's scales, where 1 is the [CLS] token: below `grid`, `grid`, 2 · `grid`, 4
    · `grid`.
    """
    temporal_scales: tuple[Annotated[PositiveInt, Field(ge=2)], ...] = ()
    """Temporal window widths in frames; for each, the sequence of frames pooled over windows of that width is added to
    the tokens.
    """
    aggregation: Aggregation = "scale"
    """Order of the tokens: scale by scale; frame by frame; or scale by scale after the mean over time."""
    learner: LearnerConfig = MambaLearner()
    text: TextConfig = TextVectors()
    initial_gate: NonNegativeFloat = 0.1
    """Initial gates: the size of each layer's contribution to the tokens, relative to the tokens' size. With 0 the
    model starts as exactly the mean of the frames, and nothing below the gates has a gradient at first.
    """
    norm: NormPlace = "before"
    """The LayerNorm of each layer: before the learner, as in the published code, or after it, as in the paper's Eq.
    7."""
    residual: bool = True
    """Each layer's output is added to its input; False: it replaces it, without a gate (Table 11)."""
    compat: Compat = "none"
    """`muse_official`: the pyramid keeps its random initial weights, and gates are drawn instead of 0, as in the
    published code, where the model is therefore no mean pooling at the start.
    """

    @classmethod
    def system(cls) -> System:
        """The system of this model."""
        return MUSE

    @property
    def columns(self) -> tuple[str, ...]:
        """The feature columns that the model reads."""
        return (self.feature, self.text.feature) if isinstance(self.text, TextVectors) else (self.feature,)

    @model_validator(mode="after")
    def _scales_fit(self) -> "MuseConfig":
        grid = self.grid
        if 1 not in self.scales or len(set(self.scales)) < len(self.scales):
            raise ValueError(f"scales = {self.scales} must hold 1, the [CLS] tokens that are kept, and each scale once")
        if grid is None and self.scales != (1,):
            raise ValueError(f"scales = {self.scales} need frames with patches; without a grid use scales = (1,)")
        if grid is not None:
            wrong = [scale for scale in self.scales if scale > grid and scale not in (2 * grid, 4 * grid)]
            if wrong:
                raise ValueError(
                    f"scale {wrong[0]} cannot be made of a {grid} × {grid} grid; "
                    f"1, …, {grid}, {2 * grid} and {4 * grid} can"
                )
        if self.aggregation == "spatial" and self.temporal_scales:
            raise ValueError("aggregation = spatial takes the mean over time; use no temporal_scales with it")
        return self


_CLIP_DIM = 512
"""Dimension of ViT-B/32's tokens in the joint space of images and captions."""


def _check(config: "TrainConfig") -> None:
    """ConfigError for parts of the model that could never be trained: tokens that no layer reads."""
    model = config.model
    assert isinstance(model, MuseConfig)
    if isinstance(model.learner, NoLearner) and (model.scales != (1,) or model.temporal_scales):
        raise ConfigError(
            f"model.learner.kind = 'none' keeps the [CLS] tokens as they are: nothing reads scales = {model.scales} "
            f"with temporal_scales = {model.temporal_scales}; use --model.scales [1] and --model.temporal_scales []"
        )


def _standardizes(model: MuseConfig) -> bool:
    return model.token_dim is not None


def _trained_vectors(model: MuseConfig) -> str | None:
    return "model.text.train_vectors" if isinstance(model.text, TextWords) else None


def _reads_texts(model: MuseConfig) -> bool:
    return isinstance(model.text, TextByEncoder)


def _usual_features(model: MuseConfig) -> "Mapping[str, int]":
    """CLIP's tokens, and its caption vectors if the model reads those."""
    tokens = 1 if model.grid is None else 1 + model.grid**2
    return {column: _CLIP_DIM * (tokens if column == model.feature else 1) for column in model.columns}


MUSE = System(
    name="muse",
    configs=(MuseConfig,),
    reads="videos",
    implementation=imported("vtr_core.systems.muse.task", "IMPLEMENTATION"),
    presets=imported("vtr_core.systems.muse.presets", "MUSE_PRESETS"),
    check=_check,
    trained_vectors=_trained_vectors,
    reads_texts=_reads_texts,
    text_encoder="model.text.encoder",
    standardizes=_standardizes,
    usual_features=_usual_features,
    reads_features=columns,
    reads_means=never,
)
