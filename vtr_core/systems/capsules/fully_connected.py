"""The fully connected baseline: two linear layers per modality."""

from torch import nn

from vtr_core.data.batches.batch import ClipBatch
from vtr_core.nn.embeddings import Embeddings
from vtr_core.nn.joint_space import joint_embeddings
from vtr_core.systems.capsules.config import FullyConnectedConfig
from vtr_core.systems.capsules.modalities import ModalityVectors


class FullyConnected(nn.Module):
    """f_m = W₂ ReLU(W₁ x + b₁) + b₂ with separate weights for every modality m (Duarte et al., section 4.4, Table 5).

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


def _layers(dim: int, config: FullyConnectedConfig) -> nn.Sequential:
    hidden, out = config.hidden_dim, config.embedding_dim
    return nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, out))
