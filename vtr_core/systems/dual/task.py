"""Training of a dual encoder with retrieval as validation, its search, and its `Implementation`."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.batches import frame_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.data.reading.row_groups import Columns
from vtr_core.embedding.collectives import bare, contiguous_share, gather_dual, gather_keys, sum_shares, widest
from vtr_core.embedding.data_frames import captions_of
from vtr_core.embedding.embedded_rows import EmbeddedRows, check_frames
from vtr_core.embedding.video_ranking import DualQuery, DualVideos, as_tensor
from vtr_core.errors import DatasetError
from vtr_core.losses.objective import Share
from vtr_core.nn.embeddings import TEXT, VIDEO, DualEmbeddings
from vtr_core.nn.precision import at_least_float32
from vtr_core.similarity import Similarity, cosine
from vtr_core.systems.dual.config import DualTripletConfig, HybridEncoderConfig
from vtr_core.systems.dual.dual_embeddings import (
    DualRows,
    dual_encoder,
    embed_dual,
    embed_dual_rows,
    encode_frames,
    encode_texts,
    table_rows,
)
from vtr_core.systems.dual.evaluation import checkpoint_figures, dual_metric_values, evaluate_dual
from vtr_core.systems.dual.hybrid_scores import compare, dual_scoring, scoring_of
from vtr_core.systems.dual.loss import DualObjective
from vtr_core.systems.dual.model import HybridEncoder
from vtr_core.systems.implementation import MOST_ROWS, Compared, Implementation, LossTables, StepOutput
from vtr_core.systems.loaded_model import Column, Signature, TrainedModel
from vtr_core.systems.spaces import DualSpaces, EmbeddedVideos
from vtr_core.text.tokens.vocabulary import Vocabulary


class DualEncodingTask:
    """L = L_lat + L_con over the whole batch; see `DualObjective`.

    tables: with the soft labels of the videos, where the model has a concept space.
    """

    def __init__(self, config: TrainConfig, rank: int, world: int, tables: LossTables) -> None:
        assert isinstance(config.model, HybridEncoderConfig)
        assert isinstance(config.loss, DualTripletConfig)
        assert (tables.concepts is None) == (config.model.num_concepts is None), "labels go with a concept space"
        self._config, self._model = config, config.model
        self._rank, self._world, self._concepts = rank, world, tables.concepts
        self.objective = DualObjective(config.loss, config.model.concept_similarity)

    def step(self, model: nn.Module, columns: Columns, step: int, device: torch.device) -> StepOutput:  # noqa: ARG002
        """Embeds this worker's part, gathers the batch, and sums all workers' shares of the loss."""
        batch = frame_batch(columns, [self._model.feature]).to(device)
        embeddings, keys = gather_dual(model(batch), self._config.scaling.wire), gather_keys(batch.keys)
        losses = self.objective(embeddings, self._labels(keys.video), keys, Share(self._rank, self._world))
        encoder = bare(model)
        assert isinstance(encoder, HybridEncoder)
        encoder.note_ranges(widest(losses.ranges))
        total, *by_term = sum_shares(torch.stack([losses.total, *losses.by_term.values()])).unbind()
        metrics = {f"train/loss_{term}": value.detach() for term, value in zip(losses.by_term, by_term, strict=True)}
        return StepOutput(total, metrics, compared_spaces(embeddings, self.objective.compared(), self.objective.margin))

    def _labels(self, video_key: Int64[Tensor, " batch"]) -> Float[Tensor, "batch concepts"] | None:
        if self._concepts is None or self._model.num_concepts is None:
            return None
        labels = torch.from_numpy(self._concepts.soft_labels(video_key.cpu().numpy(), self._model.num_concepts))
        assert isinstance(self._config.loss, DualTripletConfig)
        if self._config.loss.labels == "binary":
            labels = (labels > 0).to(labels)
        return labels.to(video_key.device)

    def evaluate(self, model: nn.Module, manifest: Manifest, vocabulary: Vocabulary) -> dict[str, float]:
        """Retrieval on the validation set: every worker embeds a share of it, and ranks a share of the captions."""
        assert isinstance(model, HybridEncoder)
        places = contiguous_share(row_groups(manifest), self._rank, self._world)
        rows = embed_dual_rows(model, self._config, manifest, vocabulary, places)
        scoring = scoring_of(model, self._config.evaluation)
        figures = evaluate_dual(rows, scoring, rank=self._rank, device=next(model.parameters()).device)
        return dual_metric_values(figures, "val")


def compared_spaces(embeddings: DualEmbeddings, of_concepts: Similarity, margin: float) -> Compared:
    """Text and video in each space, `text_latent` and so on; their similarities, divided by the margin.

    of_concepts: the similarity of concept scores.
    """
    vectors: dict[str, Tensor] = {}
    scores: dict[str, Callable[[], Tensor]] = {}
    for name, space, similarity in (
        ("latent", embeddings.latent, cosine),
        ("concept", embeddings.concept, of_concepts),
    ):
        if space is not None:
            rows = (space.present[TEXT] & space.present[VIDEO])[:MOST_ROWS]
            text, video = (at_least_float32(space.vectors[m][:MOST_ROWS][rows].detach()) for m in (TEXT, VIDEO))
            vectors |= {f"{TEXT}_{name}": text, f"{VIDEO}_{name}": video}
            scores[name] = partial(_in_margins, similarity, text, video, margin)
    return Compared(vectors, scores, is_bounded=True)


def _in_margins(similarity: Similarity, text: Tensor, video: Tensor, margin: float) -> Tensor:
    return similarity(text, video) / margin


def dual_videos(rows: DualRows, loaded: TrainedModel) -> tuple[DualVideos, Int64[np.ndarray, " rows"]]:
    """The videos that have frames, and the position of every video of `rows` among them, −1 for one without.

    Raises DatasetError where no video has frames.
    """
    with_frames = np.flatnonzero(rows.video_present)
    if not len(with_frames):
        raise DatasetError("no video of the data set has a frame of the model's feature; there is nothing to find")
    position = np.full(len(rows.video_present), -1, np.int64)
    position[with_frames] = np.arange(len(with_frames))
    videos = DualVideos(
        video_id=tuple(rows.video_id[i] for i in with_frames),
        latent=as_tensor(rows.video["latent"][with_frames] if "latent" in rows.video else None),
        concept=as_tensor(rows.video["concept"][with_frames] if "concept" in rows.video else None),
        concepts=loaded.concepts,
        similarity=dual_encoder(loaded).config.concept_similarity,
    )
    return videos, position


def embedded_videos(loaded: TrainedModel, manifest: Manifest, stored: EmbeddedRows | None = None) -> EmbeddedVideos:
    """The videos that have frames, and all their captions."""
    rows = embed_dual(loaded, manifest, stored)
    videos, position = dual_videos(rows, loaded)
    places = position[rows.caption_video].tolist()
    captions = [(text, place) for text, place in zip(rows.captions, places, strict=True) if place >= 0]
    return EmbeddedVideos(videos, tuple(text for text, _ in captions), tuple(place for _, place in captions))


def dual_queries(loaded: TrainedModel, texts: Sequence[str]) -> list[DualQuery | None]:
    """Queries in the model's spaces; None for one without an in-vocabulary word."""
    captions = encode_texts(loaded, list(texts))
    latent, concept = (as_tensor(captions.vectors.get(space)) for space in ("latent", "concept"))
    return [
        DualQuery(text, None if latent is None else latent[i], None if concept is None else concept[i])
        if captions.known[i]
        else None
        for i, text in enumerate(texts)
    ]


def predict(loaded: TrainedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: only the column `caption`; out: `latent` and `concepts`, for the spaces that the model has.

    `concepts` are the probabilities of each concept in the order of the checkpoint's concepts.json.
    """
    captions = encode_texts(loaded, captions_of(table))
    spaces = dict(captions.vectors)
    if "concept" in spaces:
        spaces["concepts"] = torch.sigmoid(torch.from_numpy(spaces.pop("concept"))).numpy()
    cells = {
        name: [vector if known else None for vector, known in zip(values, captions.known, strict=True)]
        for name, values in spaces.items()
    }
    return pd.DataFrame(cells, index=table.index, dtype=object)


def signature(model: HybridEncoderConfig) -> Signature:
    """The signature: text in; its latent vector and concept probabilities out, for the spaces that the model has."""
    spaces = {"latent": model.latent_dim, "concepts": model.num_concepts}
    return Signature(
        description="Embeds captions in the spaces of videos. Input: `caption`; output: vectors per space.",
        example_input='{"caption": ["a man cooks rice"]}',
        example_output=None,
        inputs=(Column("caption", "text"),),
        outputs=tuple(Column(name, "floats", required=False) for name, size in spaces.items() if size is not None),
        example_row={"caption": ["a person cooks rice"]},
    )


def _build(
    config: HybridEncoderConfig,
    vectors: np.ndarray | None,
    statistics: Mapping[str, FeatureStatistics] | None,
) -> HybridEncoder:
    """A newly initialised encoder; vectors: (words, word_dim) of the vocabulary."""
    assert statistics is None, "frames are taken as they are"
    model = HybridEncoder(config)
    if vectors is not None:
        model.words.load_word_vectors(torch.from_numpy(vectors.copy()))
    return model


def _model(config: TrainConfig) -> HybridEncoderConfig:
    assert isinstance(config.model, HybridEncoderConfig)
    return config.model


IMPLEMENTATION = Implementation(
    build=_build,
    task=DualEncodingTask,
    predict=predict,
    signature=signature,
    retrieval=DualSpaces(
        check=lambda config, manifest: check_frames(manifest, _model(config)),
        concept_similarity=lambda config: _model(config).concept_similarity,
        scoring=dual_scoring,
        rows=table_rows,
        videos=embedded_videos,
        queries=dual_queries,
        figures=checkpoint_figures,
        texts=encode_texts,
        arrays=encode_frames,
        compare=compare,
    ),
)
