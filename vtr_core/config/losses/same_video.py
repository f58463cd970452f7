"""How a loss treats other clips of the same video: as negatives, masked, or weighted."""

from typing import Annotated, Literal

from pydantic import Field

from vtr_core.config.settings import Settings


class KeepSameVideo(Settings):
    """Other clips of the same video are negatives like all others."""

    kind: Literal["keep"] = "keep"


class MaskSameVideo(Settings):
    """Other clips of the same video are no negatives."""

    kind: Literal["mask"] = "mask"


class WeightSameVideo(Settings):
    """HowTo100M's weighting: a fixed share of every row's weight goes to the clips of the same video."""

    kind: Literal["weight"] = "weight"
    hard_rate: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.5
    """h, the share of clips from the same video."""


SameVideo = Annotated[KeepSameVideo | MaskSameVideo | WeightSameVideo, Field(discriminator="kind")]
