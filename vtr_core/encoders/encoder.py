"""`Encoder`: pretrained text and frames in one space, whoever trained them; and `encoder(name)`, which finds one."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib import import_module

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, UInt8
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from vtr_core.backbones.recipes import RECIPES, Extractor, Recipe
from vtr_core.errors import CheckpointError, ConfigError, nearest
from vtr_core.fingerprint import fingerprint as fingerprint_of
from vtr_core.video.streams import PictureStream, prepared


@dataclass(frozen=True)
class TokenVectors:
    """A vector of each token of some texts, and which places are tokens."""

    vectors: Float[Tensor, "texts tokens dim"]
    mask: Bool[Tensor, "texts tokens"]


def token_vectors(rows: Sequence[Float[Tensor, "_ dim"]], dim: int) -> TokenVectors:
    """The vectors of texts of different lengths, filled with zeros, on the CPU."""
    vectors = pad_sequence([torch.zeros(1, dim), *(row.float().cpu() for row in rows)], batch_first=True)[1:]
    lengths = torch.tensor([len(row) for row in rows])
    return TokenVectors(vectors, torch.arange(vectors.shape[1]) < lengths[:, None])


class Encoder(ABC):
    """Texts and frames as unit vectors whose dot product is their similarity.

    Frames enter in two steps: `recipe` decodes video files and makes the rows that data sets store, and `head` brings
    the mean of a clip's rows into the joint space; so that stored features serve zero-shot search and training alike.
    An encoder of text alone has no recipe, one of frames alone no text.
    """

    name: str
    """As it was asked for, and can be asked for again."""
    fingerprint: str
    """sha256 of weights and preprocessing; vectors of different fingerprints cannot be compared."""
    dim: int
    """Dimension of the joint space."""
    token_dim: int | None = None
    """Dimension of the vectors of text tokens; None where the model gives none."""
    recipe: Recipe | None = None
    """How frames become stored rows; None for an encoder of text alone."""
    concepts: tuple[str, ...] = ()
    """Names of what `head.concepts` tells of a clip."""

    @abstractmethod
    def encode_text(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dim"]:
        """The unit vector of each text; ConfigError for an encoder of frames alone."""

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        """The vector of each token of each text, special tokens included; ConfigError where the model gives none."""
        raise ConfigError(f"{self.name} gives no vectors of tokens (it encodes {len(texts)} texts as a whole alone)")

    def encode_rows(self, frames: UInt8[np.ndarray, "frames height width 3"]) -> Float32[np.ndarray, "rows feature"]:
        """The rows that are stored of frames of the recipe's size: one each, or one for each window of frames."""
        raise self._text_alone(f"{len(frames)} frames")

    def head(self) -> "Head":
        """The module from stored rows to the joint space, whose weights are this encoder's."""
        raise self._text_alone("videos")

    def encode_frames(self, frames: UInt8[np.ndarray, "frames height width 3"]) -> Float32[np.ndarray, "rows dim"]:
        """The unit vector of each upright RGB frame of any size, or of each window of frames."""
        rows = torch.from_numpy(self.encode_rows(self.prepare(frames)))
        with torch.inference_mode():
            return self.head()(rows).numpy()

    def prepare(
        self, frames: UInt8[np.ndarray, "frames height width 3"]
    ) -> UInt8[np.ndarray, "frames shown_height shown_width 3"]:
        """Upright RGB frames of any size as the recipe's decoder gives them."""
        if self.recipe is None or not isinstance(self.recipe.stream, PictureStream):
            raise self._text_alone(f"{len(frames)} frames")
        return prepared(frames, self.recipe.stream.picture)

    def encode_patches(
        self, frames: UInt8[np.ndarray, "frames height width 3"]
    ) -> Float32[np.ndarray, "frames tokens dim"]:
        """[CLS] and the patches of each picture of the recipe's size, row by row, in the joint space, not normalised;
        ConfigError where the model has none there."""
        raise ConfigError(
            f"{self.name} gives no vectors of patches in its joint space (of {len(frames)} frames); give a model with "
            "a [CLS] token, such as hf:openai/clip-vit-base-patch32"
        )

    @property
    def feature_dim(self) -> int:
        """Dimension of a stored row."""
        if self.recipe is None:
            raise self._text_alone("videos")
        return self.recipe.dim

    def recipe_of(self, network: str, stream: PictureStream, rows_per_second: float, name: str | None = None) -> Recipe:
        """The recipe of this encoder's rows, which every machine loads by the encoder's name."""
        return Recipe(
            name=name or self.name,
            modality="video",
            network=network,
            follows="the model's own preprocessing",
            stream=stream,
            dim=self.dim,
            rows_per_second=rows_per_second,
            weights=None,
            load=partial(_rows, self.name, self.fingerprint),
            fingerprint=self.fingerprint,
        )

    def _text_alone(self, asked_for: str) -> ConfigError:
        return ConfigError(f"{self.name} encodes text alone, no {asked_for}; vtr encoders lists those that take frames")


class Head(nn.Module, ABC):
    """From the mean of a clip's stored rows to its unit vector in the joint space; nothing of it is trained."""

    @abstractmethod
    def forward(self, rows: Float[Tensor, "clips feature"]) -> Float[Tensor, "clips dim"]:
        """The unit vectors."""

    def concepts(self, rows: Float[Tensor, "clips feature"]) -> Float[Tensor, "clips concepts"] | None:  # noqa: ARG002
        """z, such that a clip's similarity with a text is Σ_i z_i q_i; None for a head without named concepts."""
        return None

    def text_concepts(self, texts: Float[Tensor, "texts dim"]) -> Float[Tensor, "texts concepts"] | None:  # noqa: ARG002
        """q of `concepts`, of the unit vectors of texts."""
        return None


class UnitHead(Head):
    """Stored rows are vectors of the joint space already: their mean, brought to length 1."""

    def forward(self, rows: Float[Tensor, "clips feature"]) -> Float[Tensor, "clips dim"]:
        """The unit vectors."""
        return nn.functional.normalize(rows.float(), dim=-1)


def unit(vectors: Float32[np.ndarray, "rows dim"]) -> Float32[np.ndarray, "rows dim"]:
    """Rows brought to length 1; a row of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def joined_units(parts: Sequence[Float[Tensor, "_ dim"]], dim: int) -> Float32[np.ndarray, "rows dim"]:
    """The rows of all parts, none or more, brought to length 1."""
    return unit(torch.cat([torch.zeros(0, dim), *(part.float().cpu() for part in parts)]).numpy())


def _rows(name: str, fingerprint: str, weights: str | None, device: str) -> Extractor:  # noqa: ARG001
    """The extractor of an encoder's rows, loaded on this machine; CheckpointError where it has other weights here."""
    loaded = encoder(name, device)
    if loaded.fingerprint != fingerprint:
        raise CheckpointError(
            f"{name} has the fingerprint {loaded.fingerprint[:12]} on this machine, and {fingerprint[:12]} where the "
            "command was given; put the same files on every machine"
        )
    return loaded.encode_rows


def _token_rows(name: str, fingerprint: str, weights: str | None, device: str) -> Extractor:
    """The extractor of the tokens of frames, one frame's in a row."""
    _rows(name, fingerprint, weights, device)
    loaded = encoder(name, device)

    def tokens(values: UInt8[np.ndarray, "frames height width 3"]) -> Float32[np.ndarray, "frames values"]:
        return loaded.encode_patches(values).reshape(len(values), -1)

    return tokens


TOKENS = "tokens:"
"""Before an encoder's name: the recipe of all its tokens of a frame, for a model of tokens such as MUSE."""
BUNDLED = "bundled"
"""The encoder whose weights are Python packages."""


@dataclass(frozen=True)
class Source:
    """Where encoders come from, by the beginning of their names."""

    prefix: str
    pattern: str
    example: str
    description: str
    encodes: str
    needs: str
    module: str
    """The package that loads them."""
    encoder: str
    """Module and class of its encoders, which are made of the rest of the name and a torch device."""

    def has(self, name: str) -> bool:
        """Whether a name is of an encoder from here."""
        if self.example == self.prefix:
            return name == self.prefix
        return name.startswith(self.prefix) and name != self.prefix


_PLACES = "a model in a folder, in the Hugging Face cache, or on the hub"
SOURCES = (
    Source(
        prefix=BUNDLED,
        pattern=BUNDLED,
        example=BUNDLED,
        description="EfficientNet-Lite0's class probabilities x MiniLM's vectors of the class names",
        encodes="text and frames",
        needs="two Python packages of weights",
        module="sentence_transformers",
        encoder="bundled:BundledEncoder",
    ),
    Source(
        prefix="hf:",
        pattern="hf:<id or folder>",
        example="hf:openai/clip-vit-base-patch32",
        description=("transformers: CLIP, SigLIP, SigLIP 2, MetaCLIP 2, AltCLIP …; X-CLIP sees windows of frames"),
        encodes="text and frames",
        needs=_PLACES,
        module="transformers",
        encoder="huggingface:HuggingFaceEncoder",
    ),
    Source(
        prefix="open-clip:",
        pattern="open-clip:<architecture>/<weights>",
        example="open-clip:ViT-B-32/laion2b_s34b_b79k",
        description=(
            "open_clip; weights are a .safetensors file, a folder, owner/name of the hub, or a name that it knows"
        ),
        encodes="text and frames",
        needs=f"the extra clip, and torchvision of torch's build; {_PLACES}",
        module="open_clip",
        encoder="open_clip:OpenClipEncoder",
    ),
    Source(
        prefix="st:",
        pattern="st:<id or folder>",
        example="st:sentence-transformers/all-MiniLM-L6-v2",
        description="sentence-transformers",
        encodes="text, and frames where the model is multimodal",
        needs=_PLACES,
        module="sentence_transformers",
        encoder="frozen_text:SentenceEncoder",
    ),
)


def encoder(name: str, device: str = "cpu") -> Encoder:
    """The encoder `name`: `bundled`, `hf:<id or folder>`, a recipe such as `howto-2d`, …; loaded once in a process for
    each device.

    ConfigError for an unknown name or missing weights, CheckpointError for files that are not what they should be.
    """
    return _loaded(name, device)


@lru_cache(maxsize=4)
def _loaded(name: str, device: str) -> Encoder:
    if is_recipe(name):
        from vtr_core.encoders.catalogue import RecipeEncoder

        return RecipeEncoder(name, device)
    source = source_of(name)
    module, _, kind = source.encoder.partition(":")
    made: Encoder = getattr(import_module(f"vtr_core.encoders.{module}"), kind)(
        name.removeprefix(source.prefix), device
    )
    return made


def is_recipe(name: str) -> bool:
    """Whether a name is of a recipe of features, most of which have no text side."""
    return any(recipe.name == name for recipe in RECIPES)


def frames_recipe(name: str) -> Recipe:
    """The recipe of an encoder's rows, or after `tokens:` of its tokens; ConfigError for an encoder of text alone."""
    loaded = encoder(name.removeprefix(TOKENS))
    if loaded.recipe is None:
        raise ConfigError(
            f"{name} encodes text alone, and makes no features of videos; vtr encoders lists those that do"
        )
    if not name.startswith(TOKENS):
        return loaded.recipe
    _, tokens, dim = loaded.encode_patches(loaded.prepare(np.zeros((1, 32, 32, 3), np.uint8))).shape
    return replace(
        loaded.recipe,
        name=name,
        network=f"{loaded.name}: the {tokens} tokens of a frame, [CLS] and patches, in the joint space",
        follows="MUSE: a frame a second, at most 12 of a video in equal steps",
        dim=tokens * dim,
        most_rows=12,
        load=partial(_token_rows, loaded.name, loaded.fingerprint),
        fingerprint=fingerprint_of([TOKENS, loaded.fingerprint]),
    )


def source_of(name: str) -> Source:
    """The source of the name of an encoder of text and frames; ConfigError, with the nearest name, for another."""
    for source in SOURCES:
        if source.has(name):
            return source
    if is_recipe(name):
        raise ConfigError(
            f"{name} makes features of videos and encodes no text, so nothing can be searched by it; give "
            f"{BUNDLED}, or another encoder of text and frames (vtr encoders lists them)"
        )
    known = [source.example for source in SOURCES]
    recipes = [recipe.name for recipe in RECIPES]
    near = nearest(name, [*known, *(source.prefix for source in SOURCES), *recipes], f"there are {', '.join(known)}")
    raise ConfigError(f"no encoder {name!r}; {near} (vtr encoders lists them)")


def is_encoder(name: str) -> bool:
    """Whether a name is of an encoder, or of its tokens, and not of a recipe or a folder."""
    name = name.removeprefix(TOKENS)
    return any(source.has(name) for source in SOURCES)
