"""`Encoder`: pretrained text and frames in one space, whoever trained them; and `encoder(name)`, which finds one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, UInt8
from torch import Tensor, nn

from vtr_core.backbones.recipe import Recipe
from vtr_core.errors import ConfigError, nearest


@dataclass(frozen=True)
class TokenVectors:
    """A vector of each token of some texts, and which places are tokens."""

    vectors: Float[Tensor, "texts tokens dim"]
    mask: Bool[Tensor, "texts tokens"]


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
        """The unit vector of each frame, or of each window of frames, of the recipe's size (RGB)."""
        with torch.inference_mode():
            return self.head()(torch.from_numpy(self.encode_rows(frames))).numpy()

    @property
    def feature_dim(self) -> int:
        """Dimension of a stored row."""
        if self.recipe is None:
            raise self._text_alone("videos")
        return self.recipe.dim

    def _text_alone(self, given: str) -> ConfigError:
        return ConfigError(f"{self.name} encodes text alone, no {given}; vtr encoders lists those that take frames")


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


BUNDLED = "bundled"
"""The encoder whose weights are Python packages."""


def _bundled(rest: str, device: str, remote_code: bool) -> Encoder:  # noqa: ARG001  has no variants, runs no code
    from vtr_core.encoders.bundled import BundledEncoder

    return BundledEncoder(device)


def _sentence_transformers(rest: str, device: str, remote_code: bool) -> Encoder:
    from vtr_core.encoders.sentences import SentenceEncoder

    return SentenceEncoder(rest, device, remote_code)


@dataclass(frozen=True)
class Source:
    """Where encoders come from, by the beginning of their names."""

    prefix: str
    example: str
    what: str
    needs: str
    load: Callable[[str, str, bool], Encoder]
    """(the rest of the name, torch device, whether a model's own code may run) → the encoder."""


SOURCES = (
    Source(
        BUNDLED,
        BUNDLED,
        "EfficientNet-Lite0's class probabilities x MiniLM's vectors of the class names: text and frames, 384-d",
        "nothing but Python packages",
        _bundled,
    ),
    Source(
        "st:",
        "st:sentence-transformers/all-MiniLM-L6-v2",
        "sentence-transformers: text, and frames where the model is multimodal",
        "a folder, the Hugging Face cache, or the hub",
        _sentence_transformers,
    ),
)


def encoder(name: str, device: str = "cpu", remote_code: bool = False) -> Encoder:
    """The encoder `name`: `bundled`, `st:<id or folder>`, …; loaded once in a process for each device.

    remote_code: run the code that a model's repository brings; it can do whatever you can. ConfigError for an unknown
    name or missing weights, CheckpointError for files that are not what they should be.
    """
    source_of(name)
    return _loaded(name, device, remote_code)


@lru_cache(maxsize=4)
def _loaded(name: str, device: str, remote_code: bool) -> Encoder:
    source = source_of(name)
    return source.load(name.removeprefix(source.prefix), device, remote_code)


def source_of(name: str) -> Source:
    """The source of an encoder's name; ConfigError, with the nearest name, for another."""
    for source in SOURCES:
        if name == source.prefix or (
            source.prefix.endswith(":") and name.startswith(source.prefix) and name != source.prefix
        ):
            return source
    known = [source.example for source in SOURCES]
    near = nearest(name, [*known, *(source.prefix for source in SOURCES)], f"there are {', '.join(known)}")
    raise ConfigError(f"no encoder {name!r}; {near} (vtr encoders lists them)")


def is_encoder(name: str) -> bool:
    """Whether a name is of an encoder, and not of a recipe or a folder."""
    return any(name == one.prefix or (one.prefix.endswith(":") and name.startswith(one.prefix)) for one in SOURCES)
