"""Contrastive training of joint embeddings, with retrieval as validation; captions as a registered model's input."""

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import cast

import pandas as pd
import torch
from torch import nn

from vtr_core.config.losses import ObjectiveConfig
from vtr_core.config.run import ModelConfig, TrainConfig
from vtr_core.data.batches import CaptionedBatch, RowKeys, frame_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import Columns
from vtr_core.embedding.collectives import contiguous_share, evaluate_shares, gather_embeddings, gather_keys, sum_shares
from vtr_core.embedding.data_frames import captions_of
from vtr_core.embedding.embedded_rows import ReadsFrames
from vtr_core.embedding.rankings import metric_values
from vtr_core.losses.contrastive import build_objective
from vtr_core.losses.objective import Objective, Share, modality_pairs
from vtr_core.nn.embeddings import TEXT, Embeddings
from vtr_core.nn.precision import at_least_float32
from vtr_core.systems.implementation import MOST_ROWS, Compared, LossTables, StepOutput
from vtr_core.systems.loaded_model import Column, Signature, TrainedModel
from vtr_core.systems.spaces import JointSpace, embed_rows
from vtr_core.text.tokens.vocabulary import Vocabulary


def compared_embeddings(objective: Objective, embeddings: Embeddings, keys: RowKeys, step: int) -> Compared:
    """Each modality's vectors, and the similarities of each pair of modalities over the rows that have both."""
    first = Embeddings(
        {name: at_least_float32(vectors[:MOST_ROWS].detach()) for name, vectors in embeddings.vectors.items()},
        {name: present[:MOST_ROWS] for name, present in embeddings.present.items()},
    )
    return Compared(
        vectors={name: vectors[first.present[name]] for name, vectors in first.vectors.items()},
        scores={
            pair.name: partial(objective.scores, *(side[pair.rows] for side in pair.modalities))
            for pair in modality_pairs(first)
        },
        is_bounded=objective.is_bounded,
        chance=partial(objective.chance, embeddings, keys, step),
    )


class RetrievalTask:
    """L = sum over pairs of modalities of a contrastive loss over the whole batch (Duarte et al., Eq. 4).

    batch: builds the model's input from a batch's columns.
    """

    def __init__(
        self,
        config: TrainConfig,
        rank: int,
        world: int,
        batch: Callable[[Columns], CaptionedBatch],
    ) -> None:
        assert isinstance(config.loss, ObjectiveConfig), "a joint space takes losses of one"
        self._config = config
        self._rank = rank
        self._world = world
        self._batch = batch
        self.objective = build_objective(config.loss)

    def step(self, model: nn.Module, columns: Columns, step: int, device: torch.device) -> StepOutput:
        """Embeds this worker's part, gathers the batch, and sums all workers' shares of the loss."""
        batch = self._batch(columns).to(device)
        embeddings, keys = gather_embeddings(model(batch), self._config.scaling.wire), gather_keys(batch.keys)
        losses = self.objective(embeddings, keys, step, Share(self._rank, self._world))
        total, *by_pair = sum_shares(torch.stack([losses.total, *losses.by_pair.values()])).unbind()
        metrics = {f"train/loss_{pair}": value.detach() for pair, value in zip(losses.by_pair, by_pair, strict=True)}
        metrics |= {f"train/{name}": value for name, value in losses.metrics.items()}
        return StepOutput(total, metrics, compared_embeddings(self.objective, embeddings, keys, step))

    def evaluate(self, model: nn.Module, manifest: Manifest, vocabulary: Vocabulary) -> dict[str, float]:
        """Retrieval on the validation set: every worker embeds a share of it, and ranks a share of the queries."""
        places = contiguous_share(row_groups(manifest), self._rank, self._world)
        rows = embed_rows(model, self._config, manifest, vocabulary, places)
        device = next(chain(model.parameters(), self.objective.parameters())).device  # a mean has none of its own
        return metric_values(evaluate_shares(rows, self._config.evaluation.similarity, self._rank, device), "val")


def frame_task(config: TrainConfig, rank: int, world: int, tables: LossTables) -> RetrievalTask:  # noqa: ARG001
    """Contrastive training on whole videos with a caption each."""
    names = cast(ReadsFrames, config.model).columns
    return RetrievalTask(config, rank, world, lambda columns: frame_batch(columns, names))


def predict(loaded: TrainedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: only the column `caption`; out: `text`, None for a caption without an in-vocabulary word."""
    space = loaded.config.model.system().implementation().retrieval
    assert isinstance(space, JointSpace)
    vectors, known = space.queries(loaded.model, loaded.config, loaded.vocabulary, captions_of(table))
    cells = [vector if is_known else None for vector, is_known in zip(vectors, known, strict=True)]
    return pd.DataFrame({TEXT: cells}, index=table.index, dtype=object)


def signature(model: ModelConfig) -> Signature:  # noqa: ARG001  all systems' are called alike
    """The signature: text in; its vector out."""
    return Signature(
        description="Embeds captions in the space of videos. Input: `caption`; output: a vector.",
        example_input='{"caption": ["a man cooks rice"]}',
        example_output=TEXT,
        inputs=(Column("caption", "text"),),
        outputs=(Column(TEXT, "floats", required=False),),
        example_row={"caption": ["a person cooks rice"]},
    )
