"""Multi-head attention over items of one width."""

from jaxtyping import Float
from torch import Tensor
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
