"""Siamese networks of faces: tower, regularisation, image preprocessing; and the `System` of them."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from vtr_core.config.override import Length, ModelInputs, PositiveInt, Settings
from vtr_core.config.run import ModelConfig
from vtr_core.config.towers import CapsuleTower, TowerConfig
from vtr_core.errors import ConfigError
from vtr_core.systems.system import System, imported

if TYPE_CHECKING:
    from vtr_core.config.run import TrainConfig
    from vtr_core.data.manifest import Manifest


Colours = Literal[1, 3]


Scales = Annotated[float, Field(ge=0.0, lt=0.5)]


class ImageShape(Settings):
    """Rows, columns and colours of every image of a data set; filled in from its manifest when a run starts."""

    height: Length = 100
    """Rows of pixels."""
    width: Length = 100
    """Columns of pixels."""
    channels: Colours = 1
    """1 is grey, 3 is red, green and blue."""


class Augmentation(Settings):
    """Random affine transforms of training images, and identity augmentation; all 0 and false: none."""

    shift: Scales = 0.0
    """Maximum shift in each direction, as a share of the side."""
    rotation: Annotated[float, Field(ge=0.0, le=180.0)] = 0.0
    """Maximum rotation in either direction, in degrees."""
    zoom: Scales = 0.0
    """Maximum change of scale, as a share: 1 ± zoom."""
    mirror: bool = False
    """Flip half of the images horizontally."""
    mirror_subjects: bool = False
    """Identity augmentation: flip all images of half of a batch's subjects, which then count as other subjects. A face
    differs from its mirror image, so there are twice as many identities."""
    stretch_subjects: tuple[Annotated[float, Field(gt=0.25, lt=4.0)], ...] = ()
    """Identity augmentation: stretch all images of a subject by one of these factors (above 1 taller, below 1 wider);
    stretched subjects count as other subjects. Each factor adds as many identities as there are."""
    stretched: Annotated[float, Field(ge=0.0, le=1.0)] = 0.8
    """Share of a batch's subjects that are stretched, where there are factors; factors are drawn uniformly."""

    @property
    def is_none(self) -> bool:
        """Whether images are left unchanged."""
        return not (self.shift or self.rotation or self.zoom or self.mirror or self.makes_identities)

    @property
    def makes_identities(self) -> bool:
        """Whether further identities are made of subjects."""
        return self.mirror_subjects or bool(self.stretch_subjects)

    @model_validator(mode="after")
    def _mirrors_one_way(self) -> "Augmentation":
        if self.mirror and self.mirror_subjects:
            raise ValueError(
                "mirror and mirror_subjects: a mirrored face is either of the same subject or of another; set one"
            )
        return self


class SiameseConfig(ModelConfig):
    """One tower for both images of a pair; their encodings are compared."""

    kind: Literal["siamese"] = "siamese"
    inputs: ModelInputs = ModelInputs()
    image: ImageShape = ImageShape()
    size: Length | None = 100
    """Side of the square that images are resized to (None: original size)."""
    tower: TowerConfig = CapsuleTower()
    encoding_dim: PositiveInt = 20
    """Dimension of the encodings."""
    normalize: bool = True
    """Normalise encodings to unit length."""
    mirror_average: bool = False
    """Test-time augmentation: average the encodings of an image and its mirror image, renormalised."""
    augmentation: Augmentation = Augmentation()

    @classmethod
    def system(cls) -> System:
        """The system of this model."""
        return SIAMESE

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the images that the tower sees."""
        return (self.image.height, self.image.width) if self.size is None else (self.size, self.size)


class PairContrastiveConfig(Settings):
    """Contrastive loss of all pairs of a batch (Siamese Capsule Networks, Eq. 4)."""

    kind: Literal["pair_contrastive"] = "pair_contrastive"
    margin: PositiveFloat = 0.4
    """Margin m, the distance beyond which different faces have no loss."""
    distance: Literal["euclidean", "manhattan", "cosine"] = "euclidean"
    """Distance between encodings: squared Euclidean, 1 − exp(−‖·‖₁²), or 1 − cosine."""
    pairs: Literal["balanced", "all", "hardest"] = "balanced"
    """Weighting of pairs: balanced between matching and different pairs; all alike; or balanced between matching pairs
    and as many hardest different ones."""


class PairDoubleMarginConfig(Settings):
    """Contrastive loss with a margin for matching pairs as well (Eq. 5; Lin et al. 2015)."""

    kind: Literal["pair_double_margin"] = "pair_double_margin"
    margin_positive: PositiveFloat = 0.5
    """m_p, the distance beyond which different faces have no loss."""
    margin_negative: NonNegativeFloat = 0.2
    """m_n, the distance up to which matching faces have no loss."""
    distance: Literal["euclidean", "manhattan", "cosine"] = "euclidean"
    """Distance between encodings, as of `pair_contrastive`."""
    pairs: Literal["balanced", "all", "hardest"] = "balanced"
    """Weighting of pairs, as of `pair_contrastive`."""

    @model_validator(mode="after")
    def _margins_are_in_order(self) -> "PairDoubleMarginConfig":
        if self.margin_negative >= self.margin_positive:
            raise ValueError(
                f"margin_negative = {self.margin_negative} must be below margin_positive = {self.margin_positive}: "
                "matching faces are to be nearer than different ones"
            )
        return self


def _check(config: "TrainConfig") -> None:
    if config.batch.micro_rows is not None:
        raise ConfigError(
            "batch.micro_rows with model.kind = 'siamese': its batch normalisation needs all rows at once; "
            "leave it out, and lower batch.videos or batch.clips_per_video where memory is short"
        )
    if config.batch.videos < 2 or config.batch.clips_per_video < 2:
        raise ConfigError(
            f"batch.videos = {config.batch.videos} subjects with batch.clips_per_video = "
            f"{config.batch.clips_per_video} images each make no pairs of both kinds; use 2 or more of each"
        )


def _inputs(manifest: "Manifest", model: Any) -> dict[str, Any]:  # noqa: ARG001  as `System.inputs`
    """The images' shape; no vocabulary or features."""
    from vtr_core.data.records.schema import require_images

    schema = require_images(manifest.schema, manifest.uri)
    shape = {"height": schema.height, "width": schema.width, "channels": schema.channels}
    return {"model.image": shape, "model.inputs": ModelInputs().model_dump()}


SIAMESE = System(
    name="siamese",
    configs=(SiameseConfig,),
    losses=(PairContrastiveConfig, PairDoubleMarginConfig),
    used_by="vtr evaluate --task verification and vtr verify",
    reads="images",
    implementation=imported("vtr_core.systems.siamese.task", "IMPLEMENTATION"),
    evaluation="verification",
    presets=imported("vtr_core.systems.siamese.presets", "SIAMESE_PRESETS"),
    check=_check,
    inputs=_inputs,
)
