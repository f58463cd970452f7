"""The capsule network's baselines: linear layers, gated units, self-attention without capsules."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from vtr_core.data.batches import ClipBatch
from vtr_core.nn.embeddings import Embeddings, joint_embeddings
from vtr_core.nn.transformer import attend, check_heads
from vtr_core.systems.capsules.config import FullyConnectedConfig, SelfAttentionBaselineConfig
from vtr_core.systems.capsules.model import ModalityVectors


class FullyConnected(nn.Module):
    """f_m = W₂ ReLU(W₁ x + b₁) + b₂ with separate weights for every modality m (Duarte et al., section 4.4, Table 5).

    With `layers` "gated_unit" f_m is a `GatedUnit`.
    Raises ConfigError for invalid inputs.
    """

    def __init__(self, config: FullyConnectedConfig) -> None:
        super().__init__()
        self.config = config
        self.inputs = ModalityVectors(config)
        self.layers = nn.ModuleDict({name: _layers(dim, config) for name, dim in self.inputs.dims.items()})

    def forward(self, batch: ClipBatch) -> Embeddings:
        """Text and every configured feature in the joint space."""
        vectors = {name: self.layers[name](values) for name, values in self.inputs(batch).items()}
        return joint_embeddings(vectors, batch, self.config.normalize)


class GatedUnit(nn.Module):
    """y ⊙ σ(W₂ y + b₂), y = W₁ x + b₁ (Miech et al. 2018, context gating)."""

    def __init__(self, dim: int, embedding_dim: int) -> None:
        super().__init__()
        self.linear, self.gate = nn.Linear(dim, embedding_dim), nn.Linear(embedding_dim, embedding_dim)

    def forward(self, values: Float[Tensor, "rows dim"]) -> Float[Tensor, "rows embedding"]:
        """The embedding of each row."""
        linear = self.linear(values)
        return linear * torch.sigmoid(self.gate(linear))


def _layers(dim: int, config: FullyConnectedConfig) -> nn.Sequential | GatedUnit:
    hidden, out = config.hidden_dim, config.embedding_dim
    if config.layers == "gated_unit":
        return GatedUnit(dim, out)
    return nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, out))


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
