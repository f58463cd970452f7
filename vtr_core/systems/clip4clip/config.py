"""CLIP4Clip's configuration: CLIP, and how frames become one vector; and the `System` of it."""

from operator import attrgetter
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat, model_validator

from vtr_core.config.override import Depth, Length, ModelInputs, PositiveInt, Settings
from vtr_core.config.pretrained import ClipConfig
from vtr_core.config.run import ModelConfig
from vtr_core.config.towers import Aggregation, LearnerConfig, MambaLearner, NormPlace
from vtr_core.systems.system import System, imported, picture_inputs


class MeanPooling(Settings):
    """meanP: the mean of the frames' directions."""

    kind: Literal["mean"] = "mean"


class SequenceTransformer(Settings):
    """seqTransf: a transformer over the frames, whose output is added to them, and then their mean."""

    kind: Literal["transformer"] = "transformer"
    layers: Depth = 4
    """Number of layers."""
    heads: PositiveInt = 8
    """Attention heads of a layer."""
    max_frames: Length = 77
    """Positions of frames in time."""


class MuseFrames(Settings):
    """MUSE's block over the tokens of all scales of the frames, and then their mean (Tang et al. 2025)."""

    kind: Literal["muse"] = "muse"
    scales: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = (1, 3, 7, 14)
    """Sides of the grids of a frame's scales, where 1 is the [CLS] token."""
    aggregation: Aggregation = "scale"
    """Order of the tokens: scale by scale; frame by frame; or scale by scale after the mean over time."""
    learner: LearnerConfig = MambaLearner()
    initial_gate: NonNegativeFloat = 0.1
    """Initial gates; with 0 the model starts as exactly meanP."""
    norm: NormPlace = "before"
    """The LayerNorm of each layer: before Mamba, as in the published code, or after it, as in the paper's Eq. 7."""

    @model_validator(mode="after")
    def _keeps_cls(self) -> "MuseFrames":
        if 1 not in self.scales or len(set(self.scales)) < len(self.scales):
            raise ValueError(f"scales = {self.scales} must hold 1, the [CLS] tokens that are kept, and each scale once")
        return self


FramesConfig = Annotated[MeanPooling | SequenceTransformer | MuseFrames, Field(discriminator="kind")]


class Clip4ClipConfig(ModelConfig):
    """CLIP4Clip (Luo et al. 2021)."""

    kind: Literal["clip4clip"] = "clip4clip"
    inputs: ModelInputs = ModelInputs(max_words=32)
    backbone: ClipConfig = ClipConfig()
    frames: FramesConfig = MeanPooling()
    stored_size: Length = 224
    """Width and height of the data set's frames in pixels (set to those of the training data)."""
    random_crop: bool = False
    """In training, a random place instead of the centre of frames that are stored larger than `backbone.image_size`;
    the same place for all frames of a clip."""

    @classmethod
    def system(cls) -> System:
        """The system of this model."""
        return CLIP4CLIP

    @model_validator(mode="after")
    def _frames_fit(self) -> "Clip4ClipConfig":
        size = self.backbone.image_size
        if self.stored_size < size:
            raise ValueError(
                f"frames of {self.stored_size} pixels are smaller than backbone.image_size = {size}; extract them with "
                f"--frame-size {size}"
            )
        return self


def _of_source(model: Clip4ClipConfig) -> dict[str, Any]:
    """The encoder's record and sizes, and texts as bytes in the place of the data set's words."""
    if not model.backbone.reads_texts:
        return {}
    from vtr_core.encoders.trainable_source import recorded
    from vtr_core.text.tokens.vocabulary import TEXT_BYTES

    inputs = ModelInputs(num_words=256, max_words=TEXT_BYTES)
    return {"model.backbone": recorded(model.backbone).model_dump(), "model.inputs": inputs.model_dump()}


CLIP4CLIP = System(
    name="clip4clip",
    configs=(Clip4ClipConfig,),
    reads="frames",
    implementation=imported("vtr_core.systems.clip4clip.task", "IMPLEMENTATION"),
    presets=imported("vtr_core.systems.clip4clip.presets", "CLIP4CLIP_PRESETS"),
    inputs=picture_inputs,
    of_source=_of_source,
    reads_texts=attrgetter("backbone.reads_texts"),
)
