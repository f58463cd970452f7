"""The adapter: a frozen encoder's vectors of text and frames, plus trained projections that start at 0."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import normalize

from vtr_core.config.blocks.text_encoder import EncoderRecord
from vtr_core.data.batches.batch import ClipBatch
from vtr_core.encoders.bundled import ClassHead
from vtr_core.encoders.encoder import Head, UnitHead
from vtr_core.encoders.frozen_text import FrozenText
from vtr_core.errors import ConfigError
from vtr_core.nn.embeddings import TEXT, Embeddings
from vtr_core.nn.joint_space import joint_embeddings
from vtr_core.systems.adapter.config import AdapterConfig


class Adapter(nn.Module):
    """f_text = unit(t + A(t)), f_video = unit(v + B(x)), of the encoder's unit vectors t and v and the stored rows x.

    A and B end in weights of 0, so that a new model's similarity is the encoder's zero-shot one.
    """

    def __init__(self, config: AdapterConfig) -> None:
        super().__init__()
        self.config, record = config, config.encoder
        self.text = FrozenText(record)
        self.head = _empty_head(record)
        given = config.inputs.features.get(config.feature, record.feature_dim)
        if given not in (record.feature_dim, 2 * record.feature_dim):
            raise ConfigError(
                f"{config.feature} has {given} values, the encoder {record.name} makes {record.feature_dim}, or twice "
                f"as many of mean and deviation; extract the data with vtr extract --recipe {record.name}"
            )
        self.given = given
        self.words = Projection(record.dim, config.hidden_dim, record.dim, config.dropout)
        self.video = Projection(given, config.hidden_dim, record.dim, config.dropout)

    def forward(self, batch: ClipBatch) -> Embeddings:
        """Text and video in the joint space."""
        name = self.config.feature
        rows = torch.where(batch.present[name].unsqueeze(1), batch.features[name], 0).float()
        return joint_embeddings({TEXT: self.encode_text(batch.tokens), name: self.encode_video(rows)}, batch, True)

    @property
    def is_zero_shot(self) -> bool:
        """Whether nothing was trained: the similarity is the encoder's own."""
        return not any(bool(one.any()) for last in (self.words.last, self.video.last) for one in last.parameters())

    def encode_text(self, tokens: Int64[Tensor, "texts bytes"]) -> Float[Tensor, "texts dim"]:
        """The unit vectors of texts in UTF-8."""
        frozen = self.text(tokens)
        return normalize(frozen + self.words(frozen), dim=-1)

    def encode_video(self, rows: Float[Tensor, "clips values"]) -> Float[Tensor, "clips dim"]:
        """The unit vectors of clips, of their pooled rows; of mean and deviation a model of the mean takes the mean."""
        rows = rows[:, : self.given]
        return normalize(self.head(rows[:, : self.config.encoder.feature_dim]) + self.video(rows), dim=-1)


class Projection(nn.Module):
    """LayerNorm, dropout and two linear layers with GELU; the last one's weights start at 0."""

    def __init__(self, before: int, hidden: int, after: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.LayerNorm(before), nn.Dropout(dropout), nn.Linear(before, hidden), nn.GELU(), nn.Dropout(dropout)
        )
        self.last = nn.Linear(hidden, after)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, vectors: Float[Tensor, "rows before"]) -> Float[Tensor, "rows after"]:
        """What is added."""
        added: Tensor = self.last(self.layers(vectors))
        return added


def _empty_head(record: EncoderRecord) -> Head:
    """The encoder's head without its weights, which a checkpoint or the encoder itself fills in."""
    if not record.classes:
        return UnitHead()
    return ClassHead(
        torch.zeros(record.classes, record.feature_dim),
        torch.zeros(record.classes),
        torch.zeros(record.classes, record.dim),
    )
