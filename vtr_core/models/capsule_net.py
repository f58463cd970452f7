"""Multimodal capsule network with routing by self-attention (Duarte et al.)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from vtr_core.config.model import CapsuleNetConfig
from vtr_core.data.batch import ClipBatch
from vtr_core.errors import ConfigError
from vtr_core.nn.capsules.capsules import Capsules
from vtr_core.nn.capsules.primary import PrimaryCapsules
from vtr_core.nn.capsules.projection import CapsuleProjection
from vtr_core.nn.capsules.routing.build import build_routing
from vtr_core.nn.embeddings import TEXT, Embeddings
from vtr_core.nn.encoders.words import WordEncoder
from vtr_core.nn.precision import at_least_float32

SHARED = "shared"


class CapsuleNet(nn.Module):
    """f_m = f_out(p̂ᵢ x̂ᵢ) per modality m: primary capsules of its own, routing and f_out shared (sections 3.2 and A).

    A modality that a row lacks is computed from zeros and then set to exactly 0, so every parameter is always part of
    the graph while nothing of the missing modality reaches a loss. Embeddings are float32 also under autocast.
    Raises ConfigError without features, or with one that is named like the captions' modality.
    """

    def __init__(self, config: CapsuleNetConfig) -> None:
        super().__init__()
        _check(config)
        self.config = config
        inputs = config.inputs
        self.words = WordEncoder(inputs.num_words, inputs.word_dim, config.words)
        self.input_dropout = nn.Dropout(config.input_dropout)
        dims = {TEXT: config.words.hidden_dim, **inputs.features}
        self.primary = nn.ModuleDict(
            {name: PrimaryCapsules(dim, config.num_capsules, config.primary_dim) for name, dim in dims.items()}
        )
        heads = [SHARED] if config.share_weights else list(dims)
        self.routing = nn.ModuleDict({name: build_routing(config.primary_dim, config.routing) for name in heads})
        self.projection = nn.ModuleDict({name: _projection(config) for name in heads})

    def load_word_vectors(self, vectors: Float[Tensor, "words word_dim"]) -> None:
        """Take given word vectors; see `WordEncoder.load_word_vectors`."""
        self.words.load_word_vectors(vectors)

    def forward(self, batch: ClipBatch) -> Embeddings:
        """Text and every configured feature in the joint space."""
        present = {TEXT: batch.text_present, **{name: batch.present[name] for name in self.config.inputs.features}}
        vectors = {
            name: self._embed(name, capsules, present[name]) for name, capsules in self.activations(batch).items()
        }
        return Embeddings(vectors=vectors, present=present)

    def activations(self, batch: ClipBatch) -> dict[str, Capsules]:
        """The secondary capsules of every modality; those of a modality that a row lacks mean nothing."""
        inputs = {TEXT: self.words(batch.tokens)}
        for name in self.config.inputs.features:
            inputs[name] = self.input_dropout(self._feature(batch.features[name], batch.present[name]))
        return {name: self.routing[self._head(name)](self.primary[name](values)) for name, values in inputs.items()}

    def _feature(
        self, values: Float[Tensor, "batch dim"], present: Bool[Tensor, " batch"]
    ) -> Float[Tensor, "batch dim"]:
        """The stored float16 in the parameters' precision, zero where not present."""
        return torch.where(present.unsqueeze(1), values, 0).to(self.words.linear.weight.dtype)

    def _embed(self, name: str, capsules: Capsules, present: Bool[Tensor, " batch"]) -> Float[Tensor, "batch dim"]:
        vectors = at_least_float32(self.projection[self._head(name)](capsules))
        if self.config.normalize:
            vectors = normalize(vectors, dim=1)
        return torch.where(present.unsqueeze(1), vectors, 0)

    def _head(self, modality: str) -> str:
        return SHARED if self.config.share_weights else modality


def _projection(config: CapsuleNetConfig) -> CapsuleProjection:
    return CapsuleProjection(
        config.num_capsules, config.routing.pose_dim, config.embedding_dim, config.activation_scale
    )


def _check(config: CapsuleNetConfig) -> None:
    if not config.inputs.features:
        raise ConfigError(
            "model.inputs.features is empty; a data set's manifest, or the caller, must name its features"
        )
    if TEXT in config.inputs.features:
        raise ConfigError(f"model.inputs.features: {TEXT!r} is the captions' modality; rename that feature column")
