"""Self-attention over the pieces of one vector."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from vtr_core.nn.attention import attend, check_heads
from vtr_core.systems.capsules.config import SelfAttentionBaselineConfig


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
