"""Dual encoding: multi-level encoders of frames and sentences, and the heads of both spaces."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import normalize

from vtr_core.data.batches import FrameBatch
from vtr_core.encoders.frozen_text import FrozenText
from vtr_core.errors import ConfigError
from vtr_core.nn.embeddings import TEXT, VIDEO, DualEmbeddings, DualVectors, Embeddings
from vtr_core.nn.multi_level_encoding import SentenceEncoder, TemporalLevels
from vtr_core.nn.normalization import PresentBatchNorm
from vtr_core.nn.precision import at_least_float32
from vtr_core.systems.dual.config import HybridEncoderConfig
from vtr_core.text.tokens.vocabulary import PADDING, TEXT_BYTES


class LatentHead(nn.Module):
    """f = z / ‖z‖, z = dropout(BN(W φ + b)) (thesis, Eq. 3.7 and 3.8); rows that are not present give 0."""

    def __init__(self, in_dim: int, dim: int, dropout: float) -> None:
        super().__init__()
        self.linear, self.norm = _linear(in_dim, dim), PresentBatchNorm(dim)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, values: Float[Tensor, "rows in_dim"], present: Bool[Tensor, " rows"]
    ) -> Float[Tensor, "rows dim"]:
        """Vectors of length 1."""
        return normalize(self.dropout(self.norm(self.linear(values), present)), dim=1)


class ConceptHead(nn.Module):
    """h = BN(W φ + b), the scores whose sigmoid is the probability of each concept (thesis, Eq. 3.10).

    Rows that are not present give 0. fan_in: W and b start uniform within ±1/√in, not by Glorot's rule with b = 0.
    """

    def __init__(self, in_dim: int, num_concepts: int, *, fan_in: bool = False) -> None:
        super().__init__()
        self.linear = (nn.Linear if fan_in else _linear)(in_dim, num_concepts)
        self.norm = PresentBatchNorm(num_concepts)

    def forward(
        self, values: Float[Tensor, "rows in_dim"], present: Bool[Tensor, " rows"]
    ) -> Float[Tensor, "rows concepts"]:
        """Scores before the sigmoid."""
        return self.norm(self.linear(values), present)


def _linear(in_dim: int, dim: int) -> nn.Linear:
    layer = nn.Linear(in_dim, dim)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


class FrameEncoder(nn.Module):
    """φ(v) = [mean of all frames; mean of biGRU outputs; strongest local patterns] (thesis, Eq. 3.1 to 3.5)."""

    def __init__(self, frame_dim: int, config: HybridEncoderConfig) -> None:
        super().__init__()
        published = config.compat == "hybrid_space"
        self.levels = TemporalLevels(frame_dim, config.video, config.dropout, published, published)
        self.out_dim = frame_dim + self.levels.out_dim

    def forward(
        self,
        frames: Float[Tensor, "rows frames frame_dim"],
        mask: Bool[Tensor, "rows frames"],
        mean: Float[Tensor, "rows frame_dim"],
    ) -> Float[Tensor, "rows out_dim"]:
        """The vector of each video; 0 for a video without frames.

        mean: of all frames of a video, including those beyond `frames`. Both in any precision.
        """
        dtype = next(self.parameters()).dtype
        frames, mean = frames.to(dtype), mean.to(dtype)
        present = mask.any(dim=1, keepdim=True)
        return torch.cat([torch.where(present, mean, 0), self.levels(frames, mask)], dim=1)


WORD_BOUND = 0.1
"""Of the published code's initial word vectors."""


class HybridEncoder(nn.Module):
    """φ(v) and φ(s) of a video and a sentence, each with a head for every space (Dong et al. 2021).

    `ranges`: lowest and highest similarity of the latent and of the concept space in training batches, as running
    averages, for rescaling hybrid scores independently of the test set; (0, 0) before training. Raises ConfigError for
    invalid inputs.

    Initial weights: word vectors ~ N(0, 1); GRUs ~ U(±1/√hidden); convolutions ~ U(±1/√(in · width)); the heads' linear
    layers by Glorot's uniform rule with b = 0; their normalisation γ = 1, β = 0. With the
    published `initialization` word vectors ~ U(±0.1), and the concept heads' linear layers ~ U(±1/√in).
    """

    ranges: Tensor

    def __init__(self, config: HybridEncoderConfig) -> None:
        super().__init__()
        self.config = config
        inputs = config.inputs
        if config.feature not in inputs.features:
            held = ", ".join(inputs.features) or "none"
            raise ConfigError(f"model.feature = {config.feature!r}, the data's feature columns are: {held}")
        self.frames = FrameEncoder(inputs.features[config.feature], config)
        self.words = SentenceEncoder(
            inputs.num_words,
            inputs.word_dim,
            config.text,
            dropout=config.dropout,
            train_vectors=config.train_vectors,
            padded_windows=config.compat == "hybrid_space",
            word_bound=WORD_BOUND if config.initialization == "hybrid_space" else None,
        )
        self.sentence = None if config.text_encoder is None else FrozenText(config.text_encoder)
        self.dropout = nn.Dropout(config.dropout)
        self.video_heads = _Heads(self.frames.out_dim, config)
        self.text_heads = _Heads(self.words.out_dim + (0 if self.sentence is None else self.sentence.dim), config)
        self.register_buffer("ranges", torch.zeros(2, 2))

    def forward(self, batch: FrameBatch) -> DualEmbeddings:
        """Both modalities of a batch in each space."""
        name = self.config.feature
        video = self.video(batch.frames[name], batch.mask[name], batch.mean[name])
        text = self.text(batch.tokens)
        present = {TEXT: self.known(batch.tokens), VIDEO: batch.mask[name].any(dim=1)}
        return DualEmbeddings(
            latent=_embeddings(text.latent, video.latent, present),
            concept=_embeddings(text.concept_scores, video.concept_scores, present),
        )

    def video(
        self,
        frames: Float[Tensor, "rows frames frame_dim"],
        mask: Bool[Tensor, "rows frames"],
        mean: Float[Tensor, "rows frame_dim"],
    ) -> DualVectors:
        """Videos in each space; exactly 0 where a video has no frame. mean: of all frames of a video."""
        return self.video_heads(self.frames(frames, mask, mean), mask.any(dim=1))

    def text(self, tokens: Int64[Tensor, "rows max_words"]) -> DualVectors:
        """Captions in each space; exactly 0 where one is not `known`. With an encoder the text follows the words."""
        if self.sentence is None:
            return self.text_heads(self.words(tokens), self.known(tokens))
        levels = self.words(tokens[:, :-TEXT_BYTES])
        sentences = self.dropout(self.sentence(tokens[:, -TEXT_BYTES:]).to(levels) * self.sentence.dim**0.5)
        return self.text_heads(torch.cat([levels, sentences], dim=1), self.known(tokens))

    def known(self, tokens: Int64[Tensor, "rows max_words"]) -> Bool[Tensor, " rows"]:
        """Which captions have a word of the vocabulary, or for an encoder any text."""
        return self.words.known(tokens) if self.sentence is None else (tokens[:, -TEXT_BYTES:] != PADDING).any(dim=1)

    @torch.no_grad()
    def note_ranges(self, ranges: Float[Tensor, "2 2"], momentum: float = 0.1) -> None:
        """Updates the running averages with a batch's lowest and highest similarities of both spaces."""
        known = self.ranges[:, 1:] > self.ranges[:, :1]
        moved = torch.where(known, torch.lerp(self.ranges, ranges.to(self.ranges), momentum), ranges.to(self.ranges))
        self.ranges.copy_(torch.where(torch.isfinite(ranges).all(dim=1, keepdim=True), moved, self.ranges))


class _Heads(nn.Module):
    """The output heads of one modality."""

    def __init__(self, in_dim: int, config: HybridEncoderConfig) -> None:
        super().__init__()
        latent, concepts, fan_in = config.latent_dim, config.num_concepts, config.initialization == "hybrid_space"
        self.latent = None if latent is None else LatentHead(in_dim, latent, config.dropout)
        self.concept = None if concepts is None else ConceptHead(in_dim, concepts, fan_in=fan_in)

    def forward(self, values: Float[Tensor, "rows in_dim"], present: Bool[Tensor, " rows"]) -> DualVectors:
        latent = None if self.latent is None else at_least_float32(self.latent(values, present))
        scores = None if self.concept is None else at_least_float32(self.concept(values, present))
        return DualVectors(latent, scores)


def _embeddings(text: Tensor | None, video: Tensor | None, present: dict[str, Tensor]) -> Embeddings | None:
    return None if text is None or video is None else Embeddings({TEXT: text, VIDEO: video}, present)
