"""Siamese networks of faces: the tower, its regularisation, and image preprocessing."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from vtr_core.config.blocks.towers import CapsuleTower, TowerConfig
from vtr_core.config.model_inputs import ModelInputs
from vtr_core.config.settings import PositiveInt, Settings

Colours = Literal[1, 3]


Scales = Annotated[float, Field(ge=0.0, lt=0.5)]


class ImageShape(Settings):
    """Rows, columns and colours of every image of a data set; filled in from its manifest when a run starts."""

    height: PositiveInt = 100
    width: PositiveInt = 100
    channels: Colours = 1
    """1 is grey, 3 is red, green and blue."""


class Augmentation(Settings):
    """Images of a training batch are moved a little, each by draws of its own; all 0 and false: as they are."""

    shift: Scales = 0.0
    """Up to this share of the side, up or down, left or right."""
    rotation: Annotated[float, Field(ge=0.0, le=180.0)] = 0.0
    """Degrees to either side, at most."""
    zoom: Scales = 0.0
    """The side becomes 1 ± this share, at most."""
    mirror: bool = False
    """Left and right are exchanged in half of the images."""
    mirror_subjects: bool = False
    """Left and right are exchanged in all images of half of a batch's subjects, who then are other subjects: no face is
    its own mirror image, so there are twice as many people to tell apart."""
    stretch_subjects: tuple[Annotated[float, Field(gt=0.25, lt=4.0)], ...] = ()
    """All images of a subject are made longer (above 1) or wider by one of these factors, or stay as they are; a
    stretched face is of another subject. Each factor adds as many people as there are."""
    stretched: Annotated[float, Field(ge=0.0, le=1.0)] = 0.8
    """Share of a batch's subjects that are stretched, where there are factors; all factors are as likely."""

    @property
    def is_none(self) -> bool:
        """Whether images stay as they are."""
        return not (self.shift or self.rotation or self.zoom or self.mirror or self.makes_identities)

    @property
    def makes_identities(self) -> bool:
        """Whether subjects are made of others."""
        return self.mirror_subjects or bool(self.stretch_subjects)

    @model_validator(mode="after")
    def _mirrors_one_way(self) -> "Augmentation":
        if self.mirror and self.mirror_subjects:
            raise ValueError(
                "mirror and mirror_subjects: a mirrored face is either of the same subject or of another; set one"
            )
        return self


class SiameseConfig(Settings):
    """One tower for both images of a pair; their encodings of length 1 are compared."""

    kind: Literal["siamese"] = "siamese"
    inputs: ModelInputs = ModelInputs()
    image: ImageShape = ImageShape()
    size: PositiveInt | None = 100
    """Side of the square that images are brought to (None: they stay as they are)."""
    tower: TowerConfig = CapsuleTower()
    encoding_dim: PositiveInt = 20
    """Units of the last layer."""
    normalize: bool = True
    """Encodings have length 1."""
    mirror_average: bool = False
    """Outside training an encoding is the mean of the image's and of its mirror image's, of length 1 again."""
    augmentation: Augmentation = Augmentation()

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the images that the tower sees."""
        return (self.image.height, self.image.width) if self.size is None else (self.size, self.size)


class PairContrastiveConfig(Settings):
    """Contrastive loss of all pairs of a batch (Siamese Capsule Networks, Eq. 4)."""

    kind: Literal["pair_contrastive"] = "pair_contrastive"
    margin: PositiveFloat = 0.4
    """m, beyond which the distance of different faces costs nothing."""
    distance: Literal["euclidean", "manhattan", "cosine"] = "euclidean"
    """Distance between encodings: squared Euclidean, 1 − exp(−‖·‖₁²), or 1 − cosine."""
    pairs: Literal["balanced", "all", "hardest"] = "balanced"
    """How pairs weigh: matching ones as much as different ones; each alike; or matching ones as much as as many of the
    nearest different ones."""


class PairDoubleMarginConfig(Settings):
    """Contrastive loss with a margin for matching pairs as well (Eq. 5; Lin et al. 2015)."""

    kind: Literal["pair_double_margin"] = "pair_double_margin"
    margin_positive: PositiveFloat = 0.5
    """m_p, beyond which the distance of different faces costs nothing."""
    margin_negative: NonNegativeFloat = 0.2
    """m_n, up to which the distance of matching faces costs nothing."""
    distance: Literal["euclidean", "manhattan", "cosine"] = "euclidean"
    pairs: Literal["balanced", "all", "hardest"] = "balanced"

    @model_validator(mode="after")
    def _margins_are_in_order(self) -> "PairDoubleMarginConfig":
        if self.margin_negative >= self.margin_positive:
            raise ValueError(
                f"margin_negative = {self.margin_negative} must be below margin_positive = {self.margin_positive}: "
                "matching faces are to be nearer than different ones"
            )
        return self
