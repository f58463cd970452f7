"""The encoder of each modality as a network of its own, from a matrix to vectors, for use without this code."""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from vtr_core.data.batches.batch import ClipBatch
from vtr_core.nn.embeddings import TEXT
from vtr_core.systems.loaded_model import TrainedModel


class Tower(nn.Module):
    """The vectors of one modality, which every row has; the others are absent."""

    def __init__(self, model: nn.Module, name: str, features: Mapping[str, int], max_words: int) -> None:
        super().__init__()
        self.model, self.name = model, name
        self._features, self._max_words = dict(features), max_words

    def forward(self, values: Shaped[Tensor, "rows values"]) -> Float[Tensor, "rows dim"]:
        """values: tokens int64 (rows, max_words), or a feature float32 (rows, dim)."""
        rows, name = values.shape[0], self.name
        keys = torch.zeros(rows, dtype=torch.int64)
        tokens = values if name == TEXT else torch.zeros((rows, self._max_words), dtype=torch.int64)
        held = {other: values if other == name else torch.zeros((rows, dim)) for other, dim in self._features.items()}
        there = {
            other: (torch.ones if other == name else torch.zeros)(rows, dtype=torch.bool) for other in self._features
        }
        batch = ClipBatch(features=held, present=there, tokens=tokens, clip_key=keys, video_key=keys, caption_key=keys)
        vectors: Tensor = self.model(batch).vectors[name]
        return vectors


def clip_towers(loaded: TrainedModel) -> dict[str, tuple[nn.Module, Tensor]]:
    """The network of each modality, with an input of four rows, drawn at random, on the CPU."""
    inputs, generator = loaded.config.model.inputs, torch.Generator().manual_seed(0)
    tokens = torch.randint(1, max(2, inputs.num_words + 1), (4, inputs.max_words), generator=generator)
    given = {name: torch.randn(4, dim, generator=generator) for name, dim in inputs.features.items()}
    model = loaded.model.cpu().eval()
    return {
        name: (Tower(model, name, inputs.features, inputs.max_words).eval(), values)
        for name, values in {TEXT: tokens, **given}.items()
    }
