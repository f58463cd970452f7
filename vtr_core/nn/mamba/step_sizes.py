"""Initial step sizes (Δ) of a state space model."""

import math

import torch
from torch import nn

SHORTEST, LONGEST = 1e-3, 1e-1
"""Bounds of a channel's initial Δ, which is log-uniform between them (Gu and Dao 2023, section 3.6)."""


@torch.no_grad()
def init_step_sizes(projection: nn.Linear) -> None:
    """Draw the weights and bias of Δ = softplus(W dt + b) so that softplus(b) is log-uniform and W keeps variances."""
    bound = projection.in_features**-0.5
    nn.init.uniform_(projection.weight, -bound, bound)
    step = nn.init.uniform_(projection.bias, math.log(SHORTEST), math.log(LONGEST)).exp()
    projection.bias.copy_(step + torch.log(-torch.expm1(-step)))  # softplus' inverse
