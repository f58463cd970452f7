"""The baselines of linear layers: two per modality, or a gated unit."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.data.batches.batch import ClipBatch
from vtr_core.nn.embeddings import Embeddings
from vtr_core.nn.joint_space import joint_embeddings
from vtr_core.systems.capsules.config import FullyConnectedConfig
from vtr_core.systems.capsules.modalities import ModalityVectors


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
