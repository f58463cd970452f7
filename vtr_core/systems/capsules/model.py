"""The capsule network and the baselines that its tables compare."""

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt
from typing import cast

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import layer_norm, pad

from vtr_core.config.data_sets import WordEncoderConfig
from vtr_core.config.pretrained import UNKNOWN_FINGERPRINT, EncoderRecord
from vtr_core.data.batches import ClipBatch
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.encoders.frozen_text import FrozenText
from vtr_core.errors import ConfigError, InputError
from vtr_core.nn.capsules.dynamic_routing import CapsuleProjection, Capsules, PrimaryCapsules, Routing
from vtr_core.nn.capsules.routing import build_routing
from vtr_core.nn.embeddings import TEXT, Embeddings, joint_embeddings
from vtr_core.nn.initialization import RELU_SIZE, SIGMOID_SIZE, contrasted_size, keep_size
from vtr_core.nn.normalization import Standardization
from vtr_core.nn.transformer import attend, check_heads
from vtr_core.systems.capsules.config import (
    CapsuleNetConfig,
    FullyConnectedConfig,
    JointSpaceSettings,
    SelfAttentionBaselineConfig,
)

PADDING = 0


class WordEncoder(nn.Module):
    """Pools ReLU(W e + b) over the words of a caption, e their word vectors (Miech et al. 2019, section 4).

    Token 0 is padding and takes no part in the pooling, neither in a maximum nor in a mean. A caption of no words gives
    zeros. Word vectors are trained; those that `load_word_vectors` has loaded only with `train_vectors`.

    vectors: a module from tokens to (e, which of them are words), in the place of these vectors.
    """

    def __init__(
        self, num_words: int, word_dim: int, config: WordEncoderConfig, vectors: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.vectors = vectors or nn.Embedding(num_words + 1, word_dim, padding_idx=PADDING)
        self.linear = nn.Linear(word_dim, config.hidden_dim)
        self.dropout = nn.Dropout(config.dropout)
        self.out_dim = config.hidden_dim * (2 if config.pooling == "max_mean" else 1)

    def load_word_vectors(self, vectors: Float[Tensor, "words word_dim"]) -> None:
        """Take `vectors` as the vectors of the words 1, 2, …, and freeze them unless `train_vectors`.

        Raises InputError where their number or dimension is not the vocabulary's.
        """
        assert isinstance(self.vectors, nn.Embedding), "an encoder's vectors are its own"
        num_words, word_dim = self.vectors.num_embeddings - 1, self.vectors.embedding_dim
        if vectors.shape != (num_words, word_dim):
            raise InputError(
                f"word vectors are {tuple(vectors.shape)}, the vocabulary needs ({num_words}, {word_dim}); "
                "ingest the data set with the same word-vector file"
            )
        with torch.no_grad():
            self.vectors.weight[1:] = vectors.to(self.vectors.weight)
        self.vectors.weight.requires_grad_(self.config.train_vectors)

    def forward(self, tokens: Int64[Tensor, "batch max_words"]) -> Float[Tensor, "batch out_dim"]:
        """The vector of each caption, `out_dim` long."""
        if isinstance(self.vectors, nn.Embedding):
            vectors, words = self.vectors(tokens), tokens != PADDING
        else:
            vectors, words = self.vectors(tokens)
        if self.training and self.config.word_dropout:
            words = keep_words(words, self.config.word_dropout)
        hidden = torch.relu(self.linear(vectors.to(self.linear.weight.dtype))) * words.unsqueeze(-1)
        parts = []
        if self.config.pooling != "mean":  # values are never negative, so the zeros of padding change no maximum
            parts.append(hidden.amax(dim=1))
        if self.config.pooling != "max":
            parts.append(hidden.sum(dim=1) / words.sum(dim=1, keepdim=True).clamp(min=1))
        pooled = torch.cat(parts, dim=1)
        return self.dropout(layer_norm(pooled, pooled.shape[1:]) if self.config.layer_norm else pooled)


def keep_words(words: Bool[Tensor, "batch max_words"], rate: float) -> Bool[Tensor, "batch max_words"]:
    """`words` with each one dropped with probability `rate`; of each caption at least one word is kept."""
    draws = torch.rand(words.shape, device=words.device).masked_fill(~words, -1.0)
    return words & ((draws >= rate) | (draws == draws.amax(dim=1, keepdim=True)))


class ModalityVectors(nn.Module):
    """The pooled words of every caption, and every feature as the model's input.

    Features come in the parameters' precision, standardised where configured, exactly 0 in the rows that lack them, and
    with dropout. Raises ConfigError without features, and with one whose name is that of the captions' modality.
    """

    def __init__(self, config: JointSpaceSettings) -> None:
        super().__init__()
        features, record = config.inputs.features, config.words.encoder
        if not features:
            raise ConfigError(
                "model.inputs.features is empty; a data set's manifest, or the caller, must name its features"
            )
        if TEXT in features:
            raise ConfigError(f"model.inputs.features: {TEXT!r} is the captions' modality; rename that feature column")
        tokens = None if record is None else EncoderTokens(record)
        word_dim = config.inputs.word_dim if tokens is None else tokens.dim
        self.words = WordEncoder(config.inputs.num_words, word_dim, config.words, tokens)
        standardized = features if config.standardize else {}
        self.standardization = nn.ModuleDict({name: Standardization(dim) for name, dim in standardized.items()})
        self.input_dropout = nn.Dropout(config.input_dropout)
        self.dims = {TEXT: self.words.out_dim, **features}

    def initialize(self, word_size: float = 1.0) -> None:
        """Draw the weights of pooled words, whose vectors have values of size `word_size`."""
        keep_size(self.words.linear, in_size=word_size)

    def load_word_vectors(self, vectors: Float[Tensor, "words word_dim"]) -> None:
        """Sets the word vectors; see `WordEncoder.load_word_vectors`."""
        self.words.load_word_vectors(vectors)

    def load_statistics(self, statistics: Mapping[str, FeatureStatistics]) -> None:
        """Sets the training data's statistics of every standardised feature."""
        for name, module in self.standardization.items():
            cast(Standardization, module).load(statistics[name])

    def forward(self, batch: ClipBatch) -> dict[str, Float[Tensor, "_ _"]]:
        """By modality, text first: (batch, dim), and for text (batch · (1 + extra), dim) in the order of `captions`."""
        features = {}
        for name in (name for name in self.dims if name != TEXT):
            present = batch.present[name].unsqueeze(1)
            values = torch.where(present, batch.features[name], 0).to(self.words.linear.weight.dtype)
            if name in self.standardization:
                values = torch.where(present, self.standardization[name](values), 0)
            features[name] = self.input_dropout(values)
        return {TEXT: self.words(captions(batch)), **features}


class EncoderTokens(nn.Module):
    """The vectors of a pretrained encoder's tokens, each brought to mean 0 and size 1, in the place of word vectors.

    Input: captions as texts in UTF-8. ConfigError for an encoder without vectors of tokens.
    """

    def __init__(self, record: EncoderRecord) -> None:
        super().__init__()
        if record.token_dim is None and record.fingerprint != UNKNOWN_FINGERPRINT:
            raise ConfigError(f"{record.name} gives no vectors of tokens, which take the place of words; name another")
        self.text = FrozenText(record)
        self.dim = record.token_dim or record.dim

    def forward(
        self, tokens: Int64[Tensor, "captions bytes"]
    ) -> tuple[Float[Tensor, "captions tokens dim"], Bool[Tensor, "captions tokens"]]:
        """The vectors, and which places are tokens."""
        encoded = self.text.tokens(tokens)
        return layer_norm(encoded.vectors, (self.dim,)), encoded.mask


def captions(batch: ClipBatch) -> Int64[Tensor, "captions max_words"]:
    """All captions of a batch in one list: the rows' own, then the candidates of the first row, of the second, …"""
    if batch.candidate_tokens is None:
        return batch.tokens
    return torch.cat([batch.tokens, batch.candidate_tokens.flatten(0, 1)])


SHARED = "shared"


class CapsuleNet(nn.Module):
    """f_m = f_out(p̂ᵢ x̂ᵢ) per modality m: primary capsules per modality, routing and f_out shared (sections 3.2 and
    A).

    With `projected_poses` "primary" f_m = f_out(p̂ᵢ xᵢ): routing only weights the primary poses. Raises ConfigError for
    invalid inputs, or a routing that does not fit the other settings.
    """

    def __init__(self, config: CapsuleNetConfig) -> None:
        super().__init__()
        _model_check(config)
        self.config = config
        self.inputs = ModalityVectors(config)
        dims = self.inputs.dims
        self.primary = nn.ModuleDict(
            {name: PrimaryCapsules(dim, config.num_capsules, config.primary_dim) for name, dim in dims.items()}
        )
        heads = [SHARED] if config.share_weights else list(dims)
        self.routing = nn.ModuleDict(
            {name: build_routing(config.num_capsules, config.primary_dim, config.routing) for name in heads}
        )
        pose_dim = config.primary_dim if config.projected_poses == "primary" else config.routing.pose_dim
        sizes = config.num_capsules, pose_dim, config.embedding_dim, config.activation_scale
        self.projection = nn.ModuleDict({name: CapsuleProjection(*sizes) for name in heads})

    def forward(self, batch: ClipBatch) -> Embeddings:
        """Text and every configured feature in the joint space."""
        primary = self._primary(batch)
        projected = {}
        for name, secondary in self._route(primary).items():
            if self.config.projected_poses == "primary":
                secondary = Capsules(poses=primary[name].poses, activations=secondary.activations)
            projected[name] = self.projection[self._head(name)](secondary)
        return joint_embeddings(projected, batch, self.config.normalize)

    def initialize(self, word_size: float = 1.0) -> None:
        """Draw the weights of all linear layers by the size of their inputs; other layers keep those of their class."""
        self.inputs.initialize(word_size)
        for primary in self.primary.values():
            cast(PrimaryCapsules, primary).initialize()
        for routing in self.routing.values():
            cast(Routing, routing).initialize()
        for head, projection in self.projection.items():
            projection, routing = cast(CapsuleProjection, projection), cast(Routing, self.routing[head])
            pose_size = routing.pose_size if self.config.projected_poses == "secondary" else 1.0  # of primary poses
            shared = projection.linear.in_features if self.config.share_weights else None
            in_size = projection.scale * routing.activation_size * pose_size
            keep_size(projection.linear, in_size, contrasted_size(self.config.embedding_dim, shared))

    def activations(self, batch: ClipBatch) -> dict[str, Capsules]:
        """The secondary capsules of every modality; undefined in rows that lack the modality."""
        return self._route(self._primary(replace(batch, candidate_tokens=None)))

    def _primary(self, batch: ClipBatch) -> dict[str, Capsules]:
        return {name: self.primary[name](vectors) for name, vectors in self.inputs(batch).items()}

    def _route(self, primary: Mapping[str, Capsules]) -> dict[str, Capsules]:
        return {name: self.routing[self._head(name)](capsules) for name, capsules in primary.items()}

    def _head(self, modality: str) -> str:
        return SHARED if self.config.share_weights else modality


def _model_check(config: CapsuleNetConfig) -> None:
    if config.projected_poses == "primary" and not config.routing.one_to_one:
        raise ConfigError(
            f"model.projected_poses = 'primary' with model.routing.kind = {config.routing.kind!r}: its secondary "
            "capsule i does not belong to primary capsule i; use projected_poses 'secondary', or self_attention or none"
        )
    if config.activation_scale == "num_capsules" and not config.routing.competing:
        raise ConfigError(
            f"model.activation_scale = 'num_capsules' with model.routing.kind = {config.routing.kind!r}: its "
            "activations come from no softmax over the capsules that it could undo; use 'none'"
        )


class FullyConnected(nn.Module):
    """f_m = W₂ ReLU(W₁ x + b₁) + b₂ with separate weights for every modality m (Duarte et al., section 4.4, Table 5).

    With `layers` "gated_unit" f_m is a `GatedUnit`.
    Raises ConfigError for invalid inputs.
    """

    def __init__(self, config: FullyConnectedConfig) -> None:
        super().__init__()
        self.config = config
        self.inputs = ModalityVectors(config)
        gated, hidden = config.layers == "gated_unit", config.hidden_dim
        self.layers = nn.ModuleDict(
            {
                name: GatedUnit(dim, config.embedding_dim) if gated else TwoLayers(dim, hidden, config.embedding_dim)
                for name, dim in self.inputs.dims.items()
            }
        )

    def forward(self, batch: ClipBatch) -> Embeddings:
        """Text and every configured feature in the joint space."""
        vectors = {name: self.layers[name](values) for name, values in self.inputs(batch).items()}
        return joint_embeddings(vectors, batch, self.config.normalize)

    def initialize(self, word_size: float = 1.0) -> None:
        """Draw the weights of all linear layers by the size of their inputs."""
        self.inputs.initialize(word_size)
        for layers in self.layers.values():
            cast(TwoLayers | GatedUnit, layers).initialize(contrasted_size(self.config.embedding_dim))


class TwoLayers(nn.Sequential):
    """W₂ ReLU(W₁ x + b₁) + b₂."""

    def __init__(self, dim: int, hidden_dim: int, embedding_dim: int) -> None:
        super().__init__(nn.Linear(dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, embedding_dim))

    def initialize(self, size: float) -> None:
        """Draw weights by which embeddings have values of `size`."""
        first, _, second = self
        keep_size(cast(nn.Linear, first))
        keep_size(cast(nn.Linear, second), in_size=RELU_SIZE, out_size=size)


class GatedUnit(nn.Module):
    """y ⊙ σ(W₂ y + b₂), y = W₁ x + b₁ (Miech et al. 2018, context gating)."""

    def __init__(self, dim: int, embedding_dim: int) -> None:
        super().__init__()
        self.linear, self.gate = nn.Linear(dim, embedding_dim), nn.Linear(embedding_dim, embedding_dim)

    def forward(self, values: Float[Tensor, "rows dim"]) -> Float[Tensor, "rows embedding"]:
        """The embedding of each row."""
        linear = self.linear(values)
        return linear * torch.sigmoid(self.gate(linear))

    def initialize(self, size: float) -> None:
        """Draw weights by which embeddings have values of `size`, and the gate's logits size 1."""
        keep_size(self.linear, out_size=size / SIGMOID_SIZE)
        keep_size(self.gate, in_size=size / SIGMOID_SIZE)


class TokenAttention(nn.Module):
    """A vector, cut into N equal tokens that attend to each other, and projected.

    t₁ … t_N = the N pieces of x, each W_E t + b_E          zeros are appended where N does not divide x
    u = softmax(t W_Q (t W_K)ᵀ / √(width of a head)) t W_V    per head, heads concatenated
    f = W [t₁ + u₁ W_O, …, t_N + u_N W_O] + b               (Duarte et al., section 4.4, Table 5)

    The paper specifies neither the width nor a residual connection. Without it every output token is initially about
    the mean of all tokens, and training on the synthetic data set stayed at chance level. Raises ConfigError where the
    heads do not divide `attention_dim`.
    """

    def __init__(self, dim: int, config: SelfAttentionBaselineConfig) -> None:
        super().__init__()
        check_heads("model.attention_dim", config.attention_dim, config.num_heads)
        self.num_tokens = config.num_tokens
        self.num_heads = config.num_heads
        self.padding = -dim % config.num_tokens
        width = (dim + self.padding) // config.num_tokens
        self.embed = nn.Linear(width, config.attention_dim)
        self.query_key_value = nn.Linear(config.attention_dim, 3 * config.attention_dim)
        self.attended = nn.Linear(config.attention_dim, config.attention_dim)
        self.linear = nn.Linear(config.num_tokens * config.attention_dim, config.embedding_dim)

    def forward(self, values: Float[Tensor, "batch dim"]) -> Float[Tensor, "batch embedding"]:
        """The embedding of each row."""
        tokens = self.embed(pad(values, (0, self.padding)).unflatten(1, (self.num_tokens, -1)))
        query, key, value = self.query_key_value(tokens).chunk(3, dim=2)
        attended = self.attended(attend(query, key, value, self.num_heads))
        return self.linear((tokens + attended).flatten(1))

    def initialize(self) -> None:
        """Draw weights by which attention has the size of the tokens that it is added to.

        Queries and keys have half that size, less with several heads: the logits of low-dimensional tokens have long
        tails, and those of a head's few dimensions longer ones.
        """
        keep_size(self.embed)
        keep_size(self.query_key_value)
        self.query_key_value.weight.data[: 2 * self.embed.out_features] *= 0.5 * self.num_heads**-0.25
        keep_size(self.attended, in_size=1 / sqrt(self.num_tokens))
        keep_size(self.linear, in_size=sqrt(2), out_size=contrasted_size(self.linear.out_features))


class SelfAttentionBaseline(nn.Module):
    """f_m = projection of self-attention over tokens of modality m's vector (Duarte et al., section 4.4, Table 5).

    Every modality has separate weights, because token widths differ. Raises ConfigError for invalid inputs, or heads
    that do not divide the attention's width.
    """

    def __init__(self, config: SelfAttentionBaselineConfig) -> None:
        super().__init__()
        self.config = config
        self.inputs = ModalityVectors(config)
        self.attention = nn.ModuleDict({name: TokenAttention(dim, config) for name, dim in self.inputs.dims.items()})

    def forward(self, batch: ClipBatch) -> Embeddings:
        """Text and every configured feature in the joint space."""
        vectors = {name: self.attention[name](values) for name, values in self.inputs(batch).items()}
        return joint_embeddings(vectors, batch, self.config.normalize)

    def initialize(self, word_size: float = 1.0) -> None:
        """Draw the weights of all linear layers by the size of their inputs."""
        self.inputs.initialize(word_size)
        for attention in self.attention.values():
            cast(TokenAttention, attention).initialize()
