"""The captioner's configurations: transformer, losses, decoding; and the `System` of it."""

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, model_validator

from vtr_core.config.losses import FusionConfig, GranularityMarginConfig
from vtr_core.config.override import (
    Depth,
    Length,
    ModelInputs,
    PositiveInt,
    Probability,
    Settings,
)
from vtr_core.config.pretrained import SwinConfig
from vtr_core.config.run import ModelConfig
from vtr_core.errors import ConfigError
from vtr_core.systems.system import (
    RecordKind,
    System,
    columns,
    imported,
    never,
    picture_inputs,
)

if TYPE_CHECKING:
    from vtr_core.config.run import TrainConfig
    from vtr_core.data.manifest import Manifest


class DecodingConfig(Settings):
    """Settings of caption generation."""

    removed: ClassVar[Mapping[str, Any]] = {
        "consensus_samples": 0,
        "sample_temperature": 0.7,
        "block_ngrams": None,
        "min_words": 1,
    }

    beams: Depth = 1
    """Beam size; 1 is greedy decoding."""
    length_penalty: NonNegativeFloat = 1.0
    """Length penalty α: hypotheses are compared by log p / length^α."""


class CaptionerConfig(ModelConfig):
    """A transformer over video tokens and text tokens, trained by masked language modelling with a
    sequence-to-sequence mask (Li et al. 2023), decoding word by word by appending [MASK]."""

    kind: Literal["captioner"] = "captioner"
    inputs: ModelInputs = ModelInputs()
    feature: str = "video"
    """The feature column of the frames."""
    grid: Length | None = None
    """Side of the grid of places of a frame: the feature has grid · grid rows for each frame, row by row of the grid,
    as `video-swin` has 7 × 7 for each of 16 pairs of frames (None: one row). Each place has a position embedding;
    `batch.max_frames` counts rows: 784."""
    backbone: SwinConfig | None = None
    """A network over frames as pictures, trained with the captioner: data are frames instead of features, and the
    places that come out of it are tokens (None: `feature` is read)."""
    stored_size: Length = 224
    """With a backbone: width and height of the data set's frames in pixels (set to those of the training data)."""
    random_crop: bool = False
    """With a backbone: in training, a random place instead of the centre of frames that are stored larger than
    `backbone.image_size`; the same place for all frames of a clip."""
    video_tokens: Length | None = None
    """Maximum number of video tokens, with a grid for each of its places; longer videos are average-pooled over
    neighbouring frames (None: a token per row)."""
    standardize: bool = False
    """Standardise frames per dimension with the training data's mean and standard deviation, which the model keeps."""
    layout: Literal["pre_norm", "bert"] = "pre_norm"
    """`bert`: norms behind the residuals and behind the embeddings, and a layer before the words' scores, as in BERT
    and LAVENDER, whose weights `vtr import lavender` takes."""
    hidden_dim: PositiveInt = 768
    """Width of all tokens."""
    layers: Depth = 12
    """Transformer blocks."""
    heads: PositiveInt = 12
    """Attention heads per block."""
    mlp_dim: PositiveInt = 3072
    """Width of each block's MLP."""
    dropout: Probability = 0.1
    """Dropout rate of tokens, attention and MLP outputs."""
    mask_rate: Annotated[float, Field(gt=0.0, le=1.0)] = 0.15
    """Share of a caption's tokens that are masked; at least one is."""
    max_tokens: Annotated[int, Field(ge=2, le=4096)] = 24
    """Maximum number of tokens of a caption, including the end token; longer ones are cut."""
    decoding: DecodingConfig = DecodingConfig()

    @classmethod
    def system(cls) -> System:
        """The system of this model."""
        return CAPTIONING

    @property
    def columns(self) -> tuple[str, ...]:
        """The feature columns that the model reads."""
        return (self.feature,) if self.backbone is None else ()

    @property
    def side(self) -> int | None:
        """Side of the grid of a frame's places that are tokens; None where a frame is one token."""
        return self.grid if self.backbone is None else self.backbone.grid

    @model_validator(mode="after")
    def _backbone_fits(self) -> "CaptionerConfig":
        if self.backbone is None:
            return self
        if self.grid is not None or self.standardize:
            raise ValueError("grid and standardize are for features; leave them out with a backbone")
        if self.stored_size < self.backbone.image_size:
            raise ValueError(
                f"frames of {self.stored_size} pixels are smaller than backbone.image_size = "
                f"{self.backbone.image_size}; extract them with --frame-size {self.backbone.image_size}"
            )
        return self


class CaptioningLossConfig(Settings):
    """L = L_gen + L_bfc + L_b + L_mcl; each of the last three can be left out (Gu and Yao 2023, Eq. 7 and Table 2)."""

    removed: ClassVar[Mapping[str, Any]] = {"self_critical": None}

    kind: Literal["captioning"] = "captioning"
    score: FusionConfig = FusionConfig()
    """Scoring of video-caption pairs for L_bfc and L_mcl."""
    fusion: bool = True
    """Train L_bfc."""
    granularity_margin: GranularityMarginConfig | None = GranularityMarginConfig()
    """Settings of L_b and L_mcl (None: neither)."""

    @property
    def contrasts(self) -> bool:
        """Whether video-caption pairs are scored."""
        return self.fusion or self.granularity_margin is not None


def _check(config: "TrainConfig") -> None:
    model, rows = config.model, config.batch.max_frames
    if isinstance(model, CaptionerConfig) and model.grid is not None and rows % model.grid**2:
        places = model.grid**2
        raise ConfigError(
            f"batch.max_frames = {rows} rows are no whole frames of model.grid = {model.grid}: {places} rows each; "
            f"give a multiple of {places}, {16 * places} for 16 frames"
        )
    if isinstance(model, CaptionerConfig) and model.backbone is not None and rows != model.backbone.frames:
        raise ConfigError(
            f"batch.max_frames = {rows} frames are read of a clip, and model.backbone.frames = {model.backbone.frames} "
            "are seen; give both the same number"
        )
    if config.batch.micro_rows is not None:
        raise ConfigError(
            "batch.micro_rows with model.kind = 'captioner': its loss is no function of embeddings alone; leave it "
            "out, and lower batch.videos or loss.score.block_pairs where memory is short"
        )


def _check_data(manifest: "Manifest") -> None:
    """DatasetError for a video without captions."""
    from vtr_core.data.captions import check_captioned, video_captions

    check_captioned(video_captions(manifest), manifest.uri)


def _reads_frames(model: CaptionerConfig) -> RecordKind | None:
    return None if model.backbone is None else "frames"


def _inputs(manifest: "Manifest", model: CaptionerConfig) -> dict[str, Any] | None:  # noqa: ARG001
    """The vocabulary and the size of the frames of a data set of frames."""
    from vtr_core.data.records.schema import FrameSchema

    return picture_inputs(manifest) if isinstance(manifest.schema, FrameSchema) else None


def _usual_features(model: CaptionerConfig) -> "Mapping[str, int]":
    """ResNet-152's features of frames, or with a grid Video Swin's of places; none with a backbone."""
    if model.backbone is not None:
        return {}
    return {model.feature: 2048 if model.grid is None else 1024}


CAPTIONING = System(
    name="captioning",
    configs=(CaptionerConfig,),
    losses=(CaptioningLossConfig,),
    used_by="vtr evaluate --task captioning and vtr caption",
    reads="videos",
    implementation=imported("vtr_core.systems.captioning.task", "IMPLEMENTATION"),
    evaluation="captioning",
    presets=imported("vtr_core.systems.captioning.presets", "CAPTION_PRESETS"),
    check=_check,
    check_data=_check_data,
    standardizes=attrgetter("standardize"),
    usual_features=_usual_features,
    reads_features=columns,
    reads_means=never,
    reads_instead=_reads_frames,
    inputs=_inputs,
    granularity=attrgetter("granularity_margin"),
)
