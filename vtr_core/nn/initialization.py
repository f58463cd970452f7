"""Initial weights by the size, the root mean square, of what a layer is given and of what it should give.

A signal that every layer keeps at its size arrives at the embeddings, however wide and deep a network is. The sizes
that a network hands from layer to layer at its start follow from its equations, so no data are needed: the weights are
a function of the configuration and the seed, the same on every worker.
"""

from math import sqrt
from typing import assert_never

from torch import nn

Weighted = nn.Linear | nn.Conv1d | nn.Conv2d | nn.ConvTranspose2d
"""Linear maps whose numbers are sums of equally many products each."""

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


def keep_size(layer: Weighted, given: float = 1.0, wanted: float = 1.0) -> None:
    """Draw W from a normal distribution so that inputs of size `given` come out with size `wanted`; b = 0.

    W_ij ~ N(0, wanted² / (given² · in))        (LeCun et al. 1998, section 4.6; He et al. 2015, Eq. 10)

    It holds on average over W for any inputs, also for correlated ones. `in` is the number of products in a sum: of a
    convolution those of its window, at whose edges padding makes sums smaller.
    """
    nn.init.normal_(layer.weight, std=wanted / (given * sqrt(_products(layer))))
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


def _products(layer: Weighted) -> int:
    """Products in one sum of the layer."""
    match layer:
        case nn.Linear() | nn.Conv1d() | nn.Conv2d():
            return layer.weight[0].numel()
        case nn.ConvTranspose2d():  # every place is in as many windows as strides fit into one
            return layer.weight[:, 0].numel() // (layer.stride[0] * layer.stride[1])
        case _:
            assert_never(layer)


def contrasted_size(dim: int, shared_inputs: int | None = None) -> float:
    """The size of two modalities' embeddings (dim,) at which their dot products deviate by 1.

    Of independent numbers of size s a dot product deviates by s² √dim. Embeddings that one layer makes of
    `shared_inputs` numbers of each modality, f = W u, have W'W for a metric, which adds s² dim / √shared_inputs.
    """
    variance = dim + (dim * dim / shared_inputs if shared_inputs else 0.0)
    return float(variance**-0.25)
