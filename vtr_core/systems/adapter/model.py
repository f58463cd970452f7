"""The adapter: a frozen encoder's vectors of text and frames, plus trained projections that start at 0."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import normalize

from vtr_core.data.batches import ClipBatch, FrameBatch
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.encoders.bundled import ClassHead
from vtr_core.encoders.encoder import Head, UnitHead
from vtr_core.encoders.frozen_text import FrozenText
from vtr_core.errors import ConfigError, command_line
from vtr_core.nn.embeddings import TEXT, VIDEO, Embeddings, joint_embeddings
from vtr_core.nn.normalization import Standardization
from vtr_core.systems.adapter.config import AdapterConfig
from vtr_core.systems.video_space import VideoTextModel

LEAST_DEVIATION = 0.1
"""Least standard deviation of a dimension, as a share of the mean one: a channel that is nearly constant in the
training data is noise in new films, not a signal of many deviations."""


class Adapter(VideoTextModel):
    """f_text = unit(t + W_t t + b_t),  f_video = unit(v + W_v x̂ + b_v),  x̂ = unit((x − μ) / σ).

    t and v are the encoder's unit vectors, x the stored rows of a clip, μ and σ their statistics in the training data.
    W and b start at 0, so that a new model's similarity is the encoder's zero-shot one. Features that the encoder did
    not make have no v: f_video = unit(W_v x̂ + b_v), from random weights. Residual adapters of frozen encoders:
    Gao et al. 2021 (CLIP-Adapter); a ridge regression from x̂ to t added to v is its closed-form relative.
    """

    def __init__(self, config: AdapterConfig) -> None:
        super().__init__()
        self.config, record, self.dim = config, config.encoder, config.encoder.dim
        self.text = FrozenText(record)
        self.head: Head | None = None
        if record.classes:  # a checkpoint or the encoder itself fills in the weights
            sizes = ((record.classes, record.feature_dim), (record.classes,), (record.classes, record.dim))
            self.head = ClassHead(*(torch.zeros(size) for size in sizes))
        elif record.feature_dim:
            self.head = UnitHead()
        given = config.inputs.features.get(config.feature, record.feature_dim)
        if self.head is not None:
            _check_rows(config, given)
        self.standardization = Standardization(given)
        self.frame_scores = nn.Linear(given, 1, bias=False) if config.frames == "attention" else None
        self.words = nn.Sequential(nn.Dropout(config.dropout), _from_zero(nn.Linear(record.dim, record.dim)))
        layers: list[nn.Module] = [nn.Dropout(config.dropout)]
        if config.hidden_dim:
            layers += [nn.Linear(given, config.hidden_dim), nn.GELU(), nn.Dropout(config.dropout)]
        last = nn.Linear(config.hidden_dim or given, record.dim)
        self.video = nn.Sequential(*layers, last if self.head is None else _from_zero(last))
        if self.frame_scores is not None:
            nn.init.zeros_(self.frame_scores.weight)

    @property
    def device(self) -> torch.device:
        """The model's device."""
        return self.standardization.mean.device

    @property
    def is_zero_shot(self) -> bool:
        """Whether nothing was trained: the similarity is the encoder's own."""
        added = (self.words[-1], self.video[-1])
        return self.head is not None and not any(bool(one.any()) for last in added for one in last.parameters())

    def load_statistics(self, statistics: FeatureStatistics) -> None:
        """The training data's mean and deviation of each value of a row, with a least deviation."""
        self.standardization.load(statistics)
        std = self.standardization.std
        std.clamp_(min=LEAST_DEVIATION * float(std.mean()))

    def forward(self, batch: ClipBatch | FrameBatch) -> Embeddings:
        """Text and video in the joint space; exactly 0 for an empty text or a video without rows."""
        name, text = self.config.feature, self.encode_text(batch.tokens)
        if isinstance(batch, FrameBatch):
            vectors = {TEXT: text, VIDEO: self.encode_videos(batch.frames[name], batch.mask[name])}
            present = {TEXT: batch.text_present, VIDEO: batch.present[name]}
            return Embeddings({m: torch.where(present[m].unsqueeze(1), v, 0) for m, v in vectors.items()}, present)
        rows = torch.where(batch.present[name].unsqueeze(1), batch.features[name], 0).float()
        return joint_embeddings({TEXT: text, name: self.encode_video(rows)}, batch, True)

    def encode_text(self, captions: Int64[Tensor, "texts bytes"]) -> Float[Tensor, "texts dim"]:
        """The unit vectors of texts in UTF-8."""
        frozen = self.text(captions)
        return normalize(frozen + self.words(frozen), dim=-1)

    def known(self, captions: Int64[Tensor, "texts bytes"]) -> Bool[Tensor, " texts"]:
        """Which texts are not empty."""
        return (captions != 0).any(dim=1)

    def encode_video(self, rows: Float[Tensor, "clips values"]) -> Float[Tensor, "clips dim"]:
        """The unit vectors of clips, of their pooled rows; of mean and deviation a model of the mean takes the mean."""
        rows = rows[:, : len(self.standardization.mean)]
        return self._project(rows[:, : self.config.encoder.feature_dim], rows)

    def encode_videos(
        self, frames: Float[Tensor, "videos rows values"], mask: Bool[Tensor, "videos rows"]
    ) -> Float[Tensor, "videos dim"]:
        """The unit vectors of whole videos: v of the rows' mean, W_v of their mean by attention.

        a = softmax_k(w · x̂_k) over the rows of a video, w from 0; a video without rows has the vector of zeros.
        """
        assert self.frame_scores is not None, "the model reads whole videos"
        frames = torch.where(mask.unsqueeze(2), frames, 0).float()
        mean = frames.sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp_min(1)
        scores = self.frame_scores(self.standardization(frames)).squeeze(2)
        weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=1)
        return self._project(mean, (weights.unsqueeze(2) * frames).sum(dim=1))

    def _project(
        self, mean: Float[Tensor, "clips feature"], rows: Float[Tensor, "clips values"]
    ) -> Float[Tensor, "clips dim"]:
        scaled = normalize(self.standardization(rows), dim=-1)
        # Values of a vector of length 1 are too small for a hidden layer's curvature: there they are of size 1.
        added = self.video(scaled * rows.shape[-1] ** 0.5 if self.config.hidden_dim else scaled)
        return normalize(added if self.head is None else self.head(mean) + added, dim=-1)


def _from_zero(layer: nn.Linear) -> nn.Linear:
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def _check_rows(config: AdapterConfig, given: int) -> None:
    """ConfigError where a stored row cannot be one of the encoder's."""
    made, pooled = config.encoder.feature_dim, config.frames == "pooled"
    if given not in ((made, 2 * made) if pooled else (made,)):
        twice = f", or {2 * made} of mean and standard deviation" if pooled else ""
        raise ConfigError(
            f"{config.feature} has {given} values, the encoder {config.encoder.name} makes {made}{twice}; extract the "
            f"data with {command_line('extract', 'VIDEOS', '--recipe', config.encoder.name)}"
        )
