"""The self-attention baseline without capsules."""

from torch import nn

from vtr_core.data.batches.batch import ClipBatch
from vtr_core.nn.embeddings import Embeddings
from vtr_core.nn.joint_space import joint_embeddings
from vtr_core.systems.capsules.config import SelfAttentionBaselineConfig
from vtr_core.systems.capsules.modalities import ModalityVectors
from vtr_core.systems.capsules.token_attention import TokenAttention


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
