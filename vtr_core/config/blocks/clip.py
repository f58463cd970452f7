"""CLIP's two transformers, of pictures and of captions, and how they are trained."""

from typing import Literal

from pydantic import model_validator

from vtr_core.config.blocks.frozen import FrozenLayers
from vtr_core.config.settings import PositiveInt, Settings

Activation = Literal["quick_gelu", "gelu"]


class TransformerSize(Settings):
    """The size of one of CLIP's transformers."""

    width: PositiveInt
    """Channels of a token."""
    layers: PositiveInt
    """Number of layers."""
    heads: PositiveInt
    """Attention heads of a layer; a divisor of the width."""

    @model_validator(mode="after")
    def _heads_divide(self) -> "TransformerSize":
        if self.width % self.heads:
            raise ValueError(f"width = {self.width} is not a multiple of heads = {self.heads}")
        return self


class ClipConfig(Settings):
    """CLIP with a vision transformer (Radford et al. 2021); the defaults are ViT-B/32."""

    image_size: PositiveInt = 224
    """Width and height of the pictures in pixels."""
    patch: PositiveInt = 32
    """Width and height of a patch in pixels; 16 is ViT-B/16."""
    vision: TransformerSize = TransformerSize(width=768, layers=12, heads=12)
    text: TransformerSize = TransformerSize(width=512, layers=12, heads=8)
    context: PositiveInt = 77
    """Maximum number of tokens of a caption, with those of its start and its end."""
    embedding_dim: PositiveInt = 512
    """Dimension of the space of pictures and captions."""
    activation: Activation = "quick_gelu"
    """The activation that the weights were trained with: quick_gelu for OpenAI's and for open_clip's models with
    quickgelu in their name, gelu for open_clip's others (LAION, DataComp). A file of weights does not tell.
    """
    freeze: FrozenLayers = 0
    """Number of first layers of both transformers that are not trained, with the embeddings below them; all: nothing of
    CLIP is trained."""
    recompute: bool = False
    """Recompute each layer in the backward pass (gradient checkpointing): memory of one layer instead of all."""
    weights: str | None = None
    """File of weights (.safetensors, with OpenAI's, open_clip's or transformers' names) on every node; None: random
    initial weights."""

    @property
    def grid(self) -> int:
        """Patches per side of a picture."""
        return self.image_size // self.patch

    @model_validator(mode="after")
    def _patches_fit(self) -> "ClipConfig":
        if self.image_size % self.patch:
            raise ValueError(f"image_size = {self.image_size} is not a multiple of patch = {self.patch}")
        return self
