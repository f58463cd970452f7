"""Contrastive training of joint embeddings, and retrieval as its validation."""

import torch
from torch import nn

from vtr_core.config.train import TrainConfig
from vtr_core.data.batch import clip_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.row_groups import Columns
from vtr_core.losses.build import build_objective
from vtr_core.losses.share import Share
from vtr_core.retrieval.embed import concatenate, embed
from vtr_core.retrieval.evaluation import evaluate_retrieval, metric_values
from vtr_core.text.vocabulary import Vocabulary
from vtr_core.train.gather import gather_embeddings, gather_keys, gather_objects, sum_shares
from vtr_core.train.task import StepOutput


class RetrievalTask:
    """L = sum over pairs of modalities of a contrastive loss over the whole batch (Duarte et al., Eq. 4)."""

    def __init__(self, config: TrainConfig, rank: int, world: int) -> None:
        self._config = config
        self._rank = rank
        self._world = world
        self._features = config.model.inputs.features
        self.objective = build_objective(config.loss)

    def step(self, model: nn.Module, columns: Columns, step: int, device: torch.device) -> StepOutput:
        """Embed this worker's part, gather the batch, and add up all workers' shares of the loss."""
        batch = clip_batch(columns, list(self._features)).to(device)
        embeddings, keys = gather_embeddings(model(batch)), gather_keys(batch.keys)
        losses = self.objective(embeddings, keys, step, Share(self._rank, self._world))
        pairs = list(losses.by_pair)
        total, *by_pair = sum_shares(torch.stack([losses.total, *losses.by_pair.values()])).unbind()
        metrics = {f"train/loss_{pair}": value.detach() for pair, value in zip(pairs, by_pair, strict=True)}
        return StepOutput(total, metrics | {f"train/{name}": value for name, value in losses.metrics.items()})

    def evaluate(self, model: nn.Module, manifest: Manifest, vocabulary: Vocabulary) -> dict[str, float]:
        """Retrieval on the validation set: every worker embeds a share of it, the first one ranks."""
        places = row_groups(manifest)[self._rank :: self._world]
        part = embed(model, self._features, manifest, vocabulary, places, self._config.evaluation.batch_rows)
        parts = gather_objects(part)
        values: dict[str, float] | None = None
        if self._rank == 0:
            values = metric_values(evaluate_retrieval(concatenate(parts), self._config.evaluation.similarity), "val")
        shared = gather_objects(values)[0]
        assert shared is not None
        return shared
