"""Initial weights from the sizes of a layer's input and desired output; other layers begin as torch's own do."""

from math import sqrt

import torch
from torch import nn


def embedding(num_words: int, dim: int, padding: int, bound: float | None = None) -> nn.Embedding:
    """Word vectors of standard normal numbers, or ~ U(±bound); 0 for padding."""
    layer = nn.Embedding(num_words, dim, padding_idx=padding, _weight=torch.empty(num_words, dim), _freeze=False)
    if bound is None:
        nn.init.normal_(layer.weight)
    else:
        nn.init.uniform_(layer.weight, -bound, bound)
    with torch.no_grad():
        layer.weight[padding].fill_(0)
    return layer


Weighted = nn.Linear | nn.Conv1d | nn.Conv2d | nn.ConvTranspose2d
"""Linear maps, every output of which is a sum of the same number of products."""

SIGMOID_SIZE = 0.542
"""Root mean square of the sigmoid of standard normal numbers: √(1/4 + 0.0434)."""
RELU_SIZE = sqrt(0.5)
"""Root mean square of the ReLU of standard normal numbers."""
GELU_SIZE = 0.652
"""Root mean square of the GELU of standard normal numbers."""
SILU_SIZE = 0.596
"""Root mean square of the SiLU, x σ(x), of standard normal numbers."""
SOFTMAX_SIZE = sqrt(2.718)
"""Root mean square of n times the softmax of n standard normal logits, whose squares have mean e for large n."""


def keep_size(layer: Weighted, in_size: float = 1.0, out_size: float = 1.0) -> None:
    """Draw W from a normal distribution so that inputs of size `in_size` come out with size `out_size`; b = 0.

    W_ij ~ N(0, out_size² / (in_size² · in))        (LeCun et al. 1998, section 4.6; He et al. 2015, Eq. 10)

    It holds on average over W for any inputs, also for correlated ones. `in` is the fan-in, the number of products in a
    sum: for a convolution those of its window, where padding at the edges makes the sums smaller.
    """
    products = layer.weight[0].numel()
    if isinstance(layer, nn.ConvTranspose2d):  # an output position lies in kernel / stride windows per axis
        products = layer.weight[:, 0].numel() // (layer.stride[0] * layer.stride[1])
    nn.init.normal_(layer.weight, std=out_size / (in_size * sqrt(products)))
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


def contrasted_size(dim: int, shared_inputs: int | None = None) -> float:
    """The size of two modalities' embeddings (dim,) at which their dot products have standard deviation 1.

    With independent components of size s, a dot product has standard deviation s² √dim. If one layer f = W u embeds
    `shared_inputs` numbers of each modality, the dot product is uᵀ WᵀW u′, whose variance is larger by
    s⁴ dim² / shared_inputs.
    """
    variance = dim + (dim * dim / shared_inputs if shared_inputs else 0.0)
    return float(variance**-0.25)
