"""Training of a captioner with generated captions as validation, and its `Implementation`."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vtr_core.backbones.swin import load_swin
from vtr_core.config.run import TrainConfig
from vtr_core.data.batches import Crops, FrameBatch, PictureBatch, frame_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.data.reading.row_groups import Columns
from vtr_core.embedding.collectives import (
    gather_flags,
    gather_keys,
    gather_objects,
    gather_rows,
    gather_sequences,
    sum_all,
    sum_shares,
)
from vtr_core.embedding.data_frames import CAPTION, frames_of
from vtr_core.losses.gmc import Sequences
from vtr_core.losses.granularity import GranularityLosses
from vtr_core.losses.objective import Share
from vtr_core.nn.normalization import share_statistics
from vtr_core.nn.precision import at_least_float32
from vtr_core.systems.captioning.config import CaptionerConfig, CaptioningLossConfig
from vtr_core.systems.captioning.generated_captions import (
    caption_figures,
    caption_frames,
    caption_values,
    caption_videos,
    column,
    describe_data,
    together,
)
from vtr_core.systems.captioning.loss import CaptioningObjective
from vtr_core.systems.captioning.model import Captioned, Captioner
from vtr_core.systems.implementation import MOST_ROWS, Compared, Implementation, LossTables, StepOutput
from vtr_core.systems.loaded_model import Column, Signature, TrainedModel
from vtr_core.text.tokens.vocabulary import Vocabulary


class CaptioningTask:
    """L = L_gen + L_bfc + L_b + L_mcl over the whole batch (Gu and Yao 2023, Eq. 7).

    L_gen is the mean of −log p over all masked tokens of the batch. Masks depend on seed and step only, so results do
    not depend on the number of workers. tables: with the information of the training captions, where L_mcl needs it.
    """

    def __init__(self, config: TrainConfig, rank: int, world: int, tables: LossTables) -> None:
        assert isinstance(config.model, CaptionerConfig)
        assert isinstance(config.loss, CaptioningLossConfig)
        assert (tables.information is None) == (config.loss.granularity_margin is None), "a margin needs information"
        self._config, self._model, self._loss = config, config.model, config.loss
        self._rank, self._world = rank, world
        if config.model.backbone is None:
            names = [config.model.feature]
            self._batch: Callable[[Columns], FrameBatch | PictureBatch] = lambda columns: frame_batch(columns, names)
        else:
            size = config.model.backbone.image_size
            self._batch = Crops(config.model.stored_size, size, config.model.random_crop, config.seed).batch
        self.objective = CaptioningObjective(config.loss, config.model.hidden_dim, tables.information)
        share_statistics(self.objective, sum_shares)

    def step(self, model: nn.Module, columns: Columns, step: int, device: torch.device) -> StepOutput:
        """The generation loss of this worker's part and its share of the contrastive losses, summed over all
        workers.
        """
        batch = self._batch(columns).to(device)
        random = np.random.default_rng([self._config.seed, step])
        hidden = random.random((self._config.batch.rows, self._model.max_tokens), np.float32)
        first = self._rank * len(hidden) // self._world
        output = model(batch, torch.from_numpy(hidden[first : first + batch.rows]).to(device), self._loss.contrasts)
        assert isinstance(output, Captioned)
        masked = max(1, sum_all(int(output.masked.sum()), device))
        contrastive, compared = GranularityLosses(), Compared()
        if self._loss.contrasts:
            scores = self._scores(output, batch.text_present)
            present = batch.text_present & output.present
            share = Share(self._rank, self._world)
            keys = gather_keys(batch.keys)
            contrastive = self.objective.contrast(scores, gather_flags(present), keys, step, share)
            compared = self._compared(output, scores)
        terms = {"gen": output.loss.sum() / masked, **contrastive.by_term}
        sums = sum_shares(torch.stack(list(terms.values())))
        losses = {f"train/loss_{name}": value.detach() for name, value in zip(terms, sums.unbind(), strict=True)}
        logged = {f"train/{name}": value for name, value in contrastive.metrics.items()}
        return StepOutput(sums.sum(), {**losses, **logged}, compared)

    def _scores(self, output: Captioned, has_caption: Bool[Tensor, " rows"]) -> Float[Tensor, "batch batch"]:
        """The scores of all workers' videos with all captions; `has_caption`: the rows with one."""
        assert output.videos is not None
        assert output.captions is not None
        assert self.objective.scorer is not None
        own = Sequences(output.captions.tokens, output.captions.mask & has_caption.unsqueeze(1))
        captions = gather_sequences(own, self._config.scaling.wire)
        return gather_rows(self.objective.scorer(output.videos, captions))

    def _compared(self, output: Captioned, scores: Float[Tensor, "batch batch"]) -> Compared:
        """The mean tokens of this worker's videos and captions; all scores over their temperature."""
        assert output.videos is not None
        assert output.captions is not None
        modalities = {"video": output.videos, "text": output.captions}
        vectors = {name: at_least_float32(rows.mean()[:MOST_ROWS].detach()) for name, rows in modalities.items()}
        some = at_least_float32(scores[:MOST_ROWS].detach())
        return Compared(vectors, {"video_text": lambda: some / self._loss.score.temperature})

    def evaluate(self, model: nn.Module, manifest: Manifest, vocabulary: Vocabulary) -> dict[str, float]:
        """CIDEr-D, BLEU and ROUGE-L of generated captions; every worker captions a share of the videos."""
        assert isinstance(model, Captioner)
        places = row_groups(manifest)[self._rank :: self._world]
        parts = gather_objects(caption_videos(model, self._config, manifest, vocabulary, places))
        values: dict[str, float] | None = None
        if self._rank == 0:
            values = caption_values(caption_figures(together(parts), "words", with_meteor=False), "val")
        shared = gather_objects(values)[0]
        assert shared is not None
        return shared


def predict(loaded: TrainedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: the column of the model's feature, a list of frame vectors for each video, or with a backbone `frames`, of
    each frame its pixels; out: `caption`.

    None for a video without frames.
    """
    assert isinstance(loaded.model, Captioner)
    videos = frames_of(table, *column(loaded.model.config), loaded.config.batch.max_frames)
    texts = caption_frames(loaded.model, loaded.config, loaded.vocabulary, videos)
    return pd.DataFrame({CAPTION: texts}, index=table.index, dtype=object)


def signature(model: CaptionerConfig) -> Signature:
    """The signature: a video's frame vectors in; text out."""
    name, dim = column(model)
    frames = np.linspace(-1, 1, 2 * dim).round(3).reshape(2, -1)
    if model.backbone is not None:
        frames = np.full((1, dim), 128.0)
    return Signature(
        description="Describes videos. Input: a column with a list of frame vectors per video, or of frames as pixels "
        "from 0 to 255, row by row; output: `caption`.",
        example_input=f'{{"{name}": [frames]}}',
        example_output="caption",
        inputs=(Column(name, "frames"),),
        outputs=(Column("caption", "text", required=False),),
        example_row={name: [frames.tolist()]},
    )


def _build(
    config: CaptionerConfig,
    vectors: np.ndarray | None,  # noqa: ARG001  all systems' are called alike
    statistics: Mapping[str, FeatureStatistics] | None,
) -> Captioner:
    """A newly initialised captioner, including its output word embeddings; statistics: of its feature."""
    model = Captioner(config)
    if statistics is not None:
        assert model.standardization is not None, "the model takes frames as they are"
        model.standardization.load(statistics[config.feature])
    return model


def _pretrained(model: nn.Module) -> None:
    """Load the weights of the backbone, if there are any. CheckpointError for a file of another network."""
    assert isinstance(model, Captioner)
    if model.config.backbone is not None and model.config.backbone.weights is not None:
        assert model.backbone is not None
        load_swin(model.backbone, model.config.backbone.weights)


IMPLEMENTATION = Implementation(
    build=_build,
    task=CaptioningTask,
    predict=predict,
    signature=signature,
    describe=describe_data,
    pretrained=_pretrained,
)
