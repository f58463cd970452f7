"""Multimodal capsule network with routing by self-attention (Duarte et al.)."""

from collections.abc import Mapping
from typing import assert_never, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from vtr_core.config.model import CapsuleNetConfig
from vtr_core.data.batch import ClipBatch
from vtr_core.data.statistics import FeatureStatistics
from vtr_core.errors import ConfigError
from vtr_core.nn.capsules.capsules import Capsules
from vtr_core.nn.capsules.primary import PrimaryCapsules
from vtr_core.nn.capsules.projection import CapsuleProjection
from vtr_core.nn.capsules.routing.build import build_routing
from vtr_core.nn.embeddings import TEXT, Embeddings
from vtr_core.nn.encoders.words import WordEncoder
from vtr_core.nn.precision import at_least_float32
from vtr_core.nn.standardization import Standardization

SHARED = "shared"


class CapsuleNet(nn.Module):
    """f_m = f_out(p̂ᵢ x̂ᵢ) per modality m: primary capsules of its own, routing and f_out shared (sections 3.2 and A).

    With `projected_poses` "primary" f_m = f_out(p̂ᵢ xᵢ): the routing only chooses among the primary poses.

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
        standardized = inputs.features if config.standardize else {}
        self.standardization = nn.ModuleDict({name: Standardization(dim) for name, dim in standardized.items()})
        self.input_dropout = nn.Dropout(config.input_dropout)
        dims = {TEXT: self.words.out_dim, **inputs.features}
        self.primary = nn.ModuleDict(
            {name: PrimaryCapsules(dim, config.num_capsules, config.primary_dim) for name, dim in dims.items()}
        )
        heads = [SHARED] if config.share_weights else list(dims)
        self.routing = nn.ModuleDict({name: build_routing(config.primary_dim, config.routing) for name in heads})
        self.projection = nn.ModuleDict({name: _projection(config) for name in heads})

    def load_word_vectors(self, vectors: Float[Tensor, "words word_dim"]) -> None:
        """Take given word vectors; see `WordEncoder.load_word_vectors`."""
        self.words.load_word_vectors(vectors)

    def load_statistics(self, statistics: Mapping[str, FeatureStatistics]) -> None:
        """Take the training data's statistics of every feature that is standardised."""
        for name, module in self.standardization.items():
            cast(Standardization, module).load(statistics[name])

    def forward(self, batch: ClipBatch) -> Embeddings:
        """Text and every configured feature in the joint space."""
        present = {TEXT: batch.text_present, **{name: batch.present[name] for name in self.config.inputs.features}}
        primary = self._primary(batch)
        vectors = {
            name: self._embed(name, self._projected(primary[name], secondary), present[name])
            for name, secondary in self._route(primary).items()
        }
        return Embeddings(vectors=vectors, present=present)

    def activations(self, batch: ClipBatch) -> dict[str, Capsules]:
        """The secondary capsules of every modality; those of a modality that a row lacks mean nothing."""
        return self._route(self._primary(batch))

    def _primary(self, batch: ClipBatch) -> dict[str, Capsules]:
        inputs = {TEXT: self.words(batch.tokens)}
        for name in self.config.inputs.features:
            inputs[name] = self.input_dropout(self._feature(name, batch))
        return {name: self.primary[name](values) for name, values in inputs.items()}

    def _route(self, primary: Mapping[str, Capsules]) -> dict[str, Capsules]:
        return {name: self.routing[self._head(name)](capsules) for name, capsules in primary.items()}

    def _projected(self, primary: Capsules, secondary: Capsules) -> Capsules:
        """What f_out sees: always the secondary activations, with the poses that the configuration names."""
        match self.config.projected_poses:
            case "secondary":
                return secondary
            case "primary":
                return Capsules(poses=primary.poses, activations=secondary.activations)
            case _:
                assert_never(self.config.projected_poses)

    def _feature(self, name: str, batch: ClipBatch) -> Float[Tensor, "batch dim"]:
        """The stored float16 in the parameters' precision, standardised where wanted, zero where not present."""
        present = batch.present[name].unsqueeze(1)
        values = torch.where(present, batch.features[name], 0).to(self.words.linear.weight.dtype)
        if name not in self.standardization:
            return values
        return torch.where(present, self.standardization[name](values), 0)

    def _embed(self, name: str, capsules: Capsules, present: Bool[Tensor, " batch"]) -> Float[Tensor, "batch dim"]:
        vectors = at_least_float32(self.projection[self._head(name)](capsules))
        if self.config.normalize:
            vectors = normalize(vectors, dim=1)
        return torch.where(present.unsqueeze(1), vectors, 0)

    def _head(self, modality: str) -> str:
        return SHARED if self.config.share_weights else modality


def _projection(config: CapsuleNetConfig) -> CapsuleProjection:
    pose_dim = config.primary_dim if config.projected_poses == "primary" else config.routing.pose_dim
    return CapsuleProjection(config.num_capsules, pose_dim, config.embedding_dim, config.activation_scale)


def _check(config: CapsuleNetConfig) -> None:
    if not config.inputs.features:
        raise ConfigError(
            "model.inputs.features is empty; a data set's manifest, or the caller, must name its features"
        )
    if TEXT in config.inputs.features:
        raise ConfigError(f"model.inputs.features: {TEXT!r} is the captions' modality; rename that feature column")
