"""Two linear towers."""

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from tests.systems.linear.config import LinearConfig
from vtr_core.data.batches import ClipBatch
from vtr_core.nn.embeddings import TEXT, Embeddings, joint_embeddings


class LinearTowers(nn.Module):
    """f_text = W · mean of the word vectors + b; f_m = W_m x_m + b_m for each feature m; all of length 1."""

    def __init__(self, config: LinearConfig) -> None:
        super().__init__()
        inputs = config.inputs
        self.words = nn.Embedding(inputs.num_words + 1, inputs.word_dim, padding_idx=0)
        self.text = nn.Linear(inputs.word_dim, config.embedding_dim)
        self.features = nn.ModuleDict({n: nn.Linear(d, config.embedding_dim) for n, d in inputs.features.items()})

    def forward(self, batch: ClipBatch) -> Embeddings:
        """Text and every feature in the joint space."""
        vectors = {TEXT: self.text(self._mean_word(batch.tokens))}
        for name, tower in self.features.items():
            there = batch.present[name].unsqueeze(1)
            vectors[name] = tower(torch.where(there, batch.features[name], 0).to(self.text.weight.dtype))
        return joint_embeddings(vectors, batch, normalized=True)

    def _mean_word(self, tokens: Int64[Tensor, "batch words"]) -> Float[Tensor, "batch word_dim"]:
        return self.words(tokens).sum(dim=1) / (tokens != 0).sum(dim=1, keepdim=True).clamp(min=1)


def build(config: LinearConfig, vectors: np.ndarray | None, *_: object) -> LinearTowers:
    """A model with fresh weights; vectors: (words, word_dim) of the vocabulary, where the data set has them."""
    model = LinearTowers(config)
    if vectors is not None:
        with torch.no_grad():
            model.words.weight[1:] = torch.from_numpy(vectors.copy())
    return model
