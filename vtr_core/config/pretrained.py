"""What begins with published weights: encoders by name, CLIP and Video Swin, and how many layers are frozen."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from vtr_core.config.override import DEEPEST, Depth, Length, NonNegativeInt, PositiveInt, Settings


def _layers_or_all(value: Any) -> Any:
    if value != "all" and not str(value).isdecimal():
        raise ValueError("give the number of first layers that are not trained, or all")
    return value


FrozenLayers = Annotated[NonNegativeInt | Literal["all"], BeforeValidator(_layers_or_all)]


Activation = Literal["quick_gelu", "gelu"]


class TransformerSize(Settings):
    """The size of one of CLIP's transformers."""

    width: PositiveInt
    """Channels of a token."""
    layers: Depth
    """Number of layers."""
    heads: PositiveInt
    """Attention heads of a layer; a divisor of the width."""

    @model_validator(mode="after")
    def _heads_divide(self) -> "TransformerSize":
        if self.width % self.heads:
            raise ValueError(f"width = {self.width} is not a multiple of heads = {self.heads}")
        return self


class JointRecord(Settings):
    """A pretrained encoder as a run's configuration records it: enough to build it without its source."""

    source: str
    """Where its tokenizer, and with an `hf:` source its weights, were read from."""
    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """sha256 of what was read."""
    architecture: dict[str, Any]
    """transformers' configuration of the model, as JSON."""
    tokenizer_bytes: NonNegativeInt
    """Size of the tokenizer, which is part of the model's state."""
    mean: tuple[float, float, float]
    """Mean of the channels red, green and blue, for pixel values from 0 to 1."""
    deviation: tuple[float, float, float]
    """Their standard deviation."""

    @field_validator("architecture")
    @classmethod
    def _bounded(cls, architecture: dict[str, Any]) -> dict[str, Any]:
        """ValueError for more layers than DEEPEST, which transformers would build one by one."""
        nested: list[Any] = [architecture]
        while nested:
            for name, value in nested.pop().items():
                if isinstance(value, dict):
                    nested.append(value)
                elif "layers" in name or "depth" in name:
                    sizes = value if isinstance(value, list) else [value]
                    if any(isinstance(size, int) and size > DEEPEST for size in sizes):
                        raise ValueError(f"architecture: {name} is {value}; at most {DEEPEST} are built")
        return architecture


class ClipConfig(Settings):
    """CLIP with a vision transformer (Radford et al. 2021), whose defaults are ViT-B/32; or any pretrained model of
    transformers with features of pictures and of texts. With a source the sizes are the source's."""

    source: str | None = None
    """Pretrained encoder, `hf:` and a folder or the id of a model on the Hugging Face hub: CLIP, SigLIP, SigLIP 2,
    MetaCLIP 2. None: CLIP of the sizes below."""
    image_size: Length = 224
    """Width and height of the pictures in pixels."""
    patch: PositiveInt = 32
    """Width and height of a patch in pixels; 16 is ViT-B/16."""
    vision: TransformerSize = TransformerSize(width=768, layers=12, heads=12)
    text: TransformerSize = TransformerSize(width=512, layers=12, heads=8)
    context: Length = 77
    """Maximum number of tokens of a caption, with those of its start and its end."""
    embedding_dim: PositiveInt = 512
    """Dimension of the space of pictures and captions."""
    activation: Activation = "quick_gelu"
    """The activation that the weights were trained with: quick_gelu for OpenAI's and for open_clip's models with
    quickgelu in their name, gelu for open_clip's others (LAION, DataComp). A file of weights does not tell.
    """
    freeze: FrozenLayers = 0
    """Number of first layers of both transformers that are not trained, with the embeddings below them; all: nothing of
    the encoder is trained."""
    recompute: bool = False
    """Recompute each layer in the backward pass (gradient checkpointing): memory of one layer instead of all."""
    weights: str | None = None
    """File of weights of a CLIP of these sizes (.safetensors or torch's, with OpenAI's, open_clip's, CLIP4Clip's or
    transformers' names) on every node; None: the source's, or random initial ones."""
    tokenizer: str | None = None
    """With `weights` of a published CLIP, its tokenizer: a folder or hub id with tokenizer files, a tokenizer.json, or
    CLIP's file of merges (bpe_simple_vocab_16e6.txt.gz, merges.txt). None: captions are read in the data set's words.
    """
    record: JointRecord | None = None
    """Set when a run starts from a source or tokenizer, so that its checkpoints need neither."""

    @property
    def reads_texts(self) -> bool:
        """Whether captions are read as texts, by a pretrained tokenizer, instead of as the data set's words."""
        return not (self.source is None and self.tokenizer is None and self.record is None)

    @property
    def grid(self) -> int:
        """Patches per side of a picture."""
        return self.image_size // self.patch

    @model_validator(mode="after")
    def _parts_fit(self) -> "ClipConfig":
        if self.source is not None and not (self.source.startswith("hf:") and self.source != "hf:"):
            raise ValueError(
                f"source = {self.source!r} is no encoder that can be trained; give hf: and a folder or a hub id, "
                "or weights = FILE and tokenizer = FILE of a CLIP"
            )
        if self.source is not None and not (self.weights is None and self.tokenizer is None):
            raise ValueError("a source has its weights and tokenizer; leave out weights and tokenizer, or the source")
        if self.record is None and self.image_size % self.patch:
            raise ValueError(f"image_size = {self.image_size} is not a multiple of patch = {self.patch}")
        if self.record is not None:
            for name, value in recorded_sizes(self.record.architecture).items():
                given = getattr(self, name)
                if given != value:
                    raise ValueError(f"{name} = {given} is not the {value} of {self.record.source}; leave it")
        return self


def recorded_sizes(architecture: Mapping[str, Any]) -> dict[str, Any]:
    """`image_size`, `patch`, `vision`, `text`, `context` and `embedding_dim` of a configuration of transformers.

    KeyError or TypeError where it is of no joint encoder with square pictures.
    """
    vision, text = architecture["vision_config"], architecture["text_config"]
    # SigLIP 2's pictures of any shape: the square one of as many patches.
    side = vision.get("image_size") or math.isqrt(vision["num_patches"]) * vision["patch_size"]
    projected = architecture.get("projection_dim") or text.get("projection_size")
    return {
        "image_size": int(side),
        "patch": int(vision["patch_size"]),
        "vision": _size(vision),
        "text": _size(text),
        "context": int(text["max_position_embeddings"]),
        "embedding_dim": int(projected or vision["hidden_size"]),
    }


def _size(side: Mapping[str, Any]) -> TransformerSize:
    return TransformerSize(
        width=side["hidden_size"], layers=side["num_hidden_layers"], heads=side["num_attention_heads"]
    )


_PATCH, _STEP = 4, 2
"""Pixels per side of a patch, and its frames."""
Stages = Annotated[tuple[Depth, ...], Field(min_length=1, max_length=16)]


class SwinConfig(Settings):
    """Video Swin Transformer (Liu et al. 2022); the defaults are Video Swin-B."""

    image_size: Length = 224
    """Width and height of the pictures in pixels."""
    frames: Length = 32
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


UNKNOWN_FINGERPRINT = "0" * 64
"""Of an encoder that a preset names, and no run has read yet."""


class EncoderRecord(Settings):
    """A pretrained encoder as a checkpoint names it: enough to build its parts without its weights.

    All but the name is filled in when a run starts.
    """

    name: str = "bundled"
    """As `vtr_core.encoder` takes it."""
    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = UNKNOWN_FINGERPRINT
    """sha256 of weights and preprocessing."""
    dim: PositiveInt = 384
    """Dimension of the joint space."""
    token_dim: PositiveInt | None = None
    """Dimension of a text token's vector; None where the encoder gives none."""
    feature_dim: NonNegativeInt = 0
    """Dimension of a stored row of frames; 0 for an encoder of text alone."""
    classes: NonNegativeInt = 0
    """Named concepts of its head; 0 where stored rows are vectors of the joint space."""


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


NamedEncoder = Annotated[EncoderRecord, BeforeValidator(_named)]
"""An encoder that is given by its name, such as `bundled`."""
TextEncoder = NamedEncoder | None
"""The pretrained encoder of a model's captions; None: none."""
