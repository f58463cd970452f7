"""Multi-head attention over items of one width, and a transformer block with a key-value cache."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from vtr_core.errors import ConfigError


def check_heads(setting: str, dim: int, num_heads: int) -> None:
    """Raise ConfigError where `num_heads` does not divide `dim`, the value of `setting`."""
    if dim % num_heads:
        raise ConfigError(f"{setting} = {dim} is not a multiple of num_heads = {num_heads}")


def attend(
    query: Float[Tensor, "batch queries dim"],
    key: Float[Tensor, "batch items dim"],
    value: Float[Tensor, "batch items dim"],
    num_heads: int,
) -> Float[Tensor, "batch queries dim"]:
    """softmax(Q Kᵀ / √(dim / heads)) V per head, heads concatenated (Vaswani et al. 2017, Eq. 1)."""
    query, key, value = (_heads(items, num_heads) for items in (query, key, value))
    return scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)


def _heads(items: Float[Tensor, "batch items dim"], num_heads: int) -> Float[Tensor, "batch heads items width"]:
    return items.unflatten(2, (num_heads, -1)).transpose(1, 2)


@dataclass(frozen=True)
class KeyValues:
    """Keys and values of earlier tokens, which later tokens attend to."""

    keys: Float[Tensor, "rows heads length width"]
    values: Float[Tensor, "rows heads length width"]

    def then(self, later: "KeyValues") -> "KeyValues":
        """The concatenation of both."""
        return KeyValues(torch.cat([self.keys, later.keys], dim=2), torch.cat([self.values, later.values], dim=2))

    def first(self, length: int) -> "KeyValues":
        """The keys and values of the first tokens."""
        return KeyValues(self.keys[:, :, :length], self.values[:, :, :length])

    def of(self, rows: Int64[Tensor, " chosen"]) -> "KeyValues":
        """The keys and values of some rows, in the given order."""
        return KeyValues(self.keys[rows], self.values[rows])


class TransformerBlock(nn.Module):
    """x + attention(norm(x)), then x + MLP(norm(x)): a pre-norm block (Xiong et al. 2020).

    post_norm: norm(x + attention(x)), then norm(x + MLP(x)), as in BERT (Devlin et al. 2019).

    Initial weights: linear layers uniform within ±1/√in, so that the residuals are smaller than the input; norms with
    weight 1 and bias 0.
    """

    def __init__(self, dim: int, heads: int, mlp_dim: int, dropout: float, post_norm: bool = False) -> None:
        super().__init__()
        check_heads("hidden_dim", dim, heads)
        self._heads, self._post_norm = heads, post_norm
        self.attention_norm, self.mlp_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.projections, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, mlp_dim), nn.GELU(), nn.Linear(mlp_dim, dim))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, tokens: Float[Tensor, "rows length dim"], attends: Bool[Tensor, "#rows length length"]
    ) -> Float[Tensor, "rows length dim"]:
        """The tokens after the block; attends[·, i, j]: token i attends to token j, and each to at least one."""
        return self.go_on(tokens, attends, None)[0]

    def go_on(
        self,
        tokens: Float[Tensor, "rows length dim"],
        attends: Bool[Tensor, "#rows length all"],
        past: KeyValues | None,
    ) -> tuple[Float[Tensor, "rows length dim"], KeyValues]:
        """The tokens after the block, which also attend to those of `past`, and the keys and values of all of them.

        attends: as in `forward`, with the tokens of `past` first along the last axis.
        """
        inputs = tokens if self._post_norm else self.attention_norm(tokens)
        query, key, value = self.projections(inputs).unflatten(2, (3, self._heads, -1)).unbind(2)
        own = KeyValues(key.transpose(1, 2), value.transpose(1, 2))
        whole = own if past is None else past.then(own)
        attended = scaled_dot_product_attention(query.transpose(1, 2), whole.keys, whole.values, attends.unsqueeze(1))
        tokens = tokens + self.dropout(self.out(attended.transpose(1, 2).flatten(2)))
        if self._post_norm:
            tokens = self.attention_norm(tokens)
            return self.mlp_norm(tokens + self.dropout(self.mlp(tokens))), whole
        return tokens + self.dropout(self.mlp(self.mlp_norm(tokens))), whole
