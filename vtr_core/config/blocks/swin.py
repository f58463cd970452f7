"""Video Swin Transformer over the frames of a clip, and how it is trained."""

from typing import Annotated

from pydantic import Field, model_validator

from vtr_core.config.blocks.frozen import FrozenLayers
from vtr_core.config.settings import PositiveInt, Settings

_PATCH, _STEP = 4, 2
"""Pixels per side of a patch, and its frames."""
Stages = Annotated[tuple[PositiveInt, ...], Field(min_length=1)]


class SwinConfig(Settings):
    """Video Swin Transformer (Liu et al. 2022); the defaults are Video Swin-B."""

    image_size: PositiveInt = 224
    """Width and height of the pictures in pixels."""
    frames: PositiveInt = 32
    """Frames of a clip, an even number; of clips that have fewer each is seen several times, in slow motion."""
    width: PositiveInt = 128
    """Width of the first stage; each further one is twice as wide and has half as many rows and columns."""
    depths: Stages = (2, 2, 18, 2)
    """Blocks of each stage."""
    heads: Stages = (4, 8, 16, 32)
    """Attention heads of each stage."""
    freeze: FrozenLayers = 0
    """Number of first blocks that are not trained, with the embedding of patches below them; all: none is trained."""
    recompute: bool = False
    """Recompute each block in the backward pass (gradient checkpointing): memory of one block instead of all."""
    weights: str | None = None
    """File of weights (.safetensors or torch's) with the published names on every node; None: random initial weights.
    """

    @property
    def grid(self) -> int:
        """Rows and columns of the places of a frame that come out."""
        return self.image_size // self._shrinks

    @property
    def dim(self) -> int:
        """The width of what comes out."""
        return self.width * 2 ** (len(self.depths) - 1)

    @property
    def _shrinks(self) -> int:
        return _PATCH * 2 ** (len(self.depths) - 1)

    @model_validator(mode="after")
    def _sizes_fit(self) -> "SwinConfig":
        if len(self.heads) != len(self.depths):
            raise ValueError(f"depths = {self.depths} and heads = {self.heads} are of different numbers of stages")
        if self.image_size % self._shrinks or self.frames % _STEP:
            raise ValueError(
                f"image_size = {self.image_size} and frames = {self.frames} must be multiples of {self._shrinks} and "
                f"{_STEP}, the pixels and frames of a place of the last of {len(self.depths)} stages"
            )
        for stage, heads in enumerate(self.heads):
            if self.width * 2**stage % heads:
                raise ValueError(f"the width of stage {stage + 1}, {self.width * 2**stage}, is no multiple of {heads}")
        return self
