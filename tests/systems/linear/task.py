"""Training: the loss of a step, and the figures of a validation set."""

from collections.abc import Mapping

import torch
from torch import nn

from tests.systems.linear.loss import LogisticRanking
from vtr_core.data.batches import clip_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.embedding.collectives import contiguous_share, evaluate_shares, gather_embeddings, sum_shares
from vtr_core.embedding.rankings import metric_values
from vtr_core.losses.objective import Share
from vtr_core.run.config import TrainConfig
from vtr_core.systems.implementation import StepOutput
from vtr_core.systems.spaces import embed_rows
from vtr_core.text.tokens.vocabulary import Vocabulary


class LinearTask:
    """`LogisticRanking` over the whole batch; validated by retrieval."""

    def __init__(self, config: TrainConfig, rank: int, world: int, *_: object) -> None:
        self._config, self._rank, self._world = config, rank, world
        self.objective = LogisticRanking(config.loss)

    def step(self, model: nn.Module, columns: Mapping, step: int, device: torch.device) -> StepOutput:
        """Embed this worker's part, gather the batch, and add up all workers' shares of the loss."""
        batch = clip_batch(columns, list(self._config.model.inputs.features)).to(device)
        share = self.objective(gather_embeddings(model(batch)), Share(self._rank, self._world))
        return StepOutput(sum_shares(share[None])[0])

    def evaluate(self, model: nn.Module, manifest: Manifest, vocabulary: Vocabulary) -> dict[str, float]:
        """Every worker embeds and ranks a share of the validation set."""
        places = contiguous_share(row_groups(manifest), self._rank, self._world)
        rows, device = embed_rows(model, self._config, manifest, vocabulary, places), next(model.parameters()).device
        return metric_values(evaluate_shares(rows, "cosine", self._rank, device), "val")
