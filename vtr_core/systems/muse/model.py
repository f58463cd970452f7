"""MUSE: multi-scale frame tokens as one sequence, pooled to one vector per video; initial weights."""

from math import sqrt
from typing import assert_never

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import normalize

from vtr_core.data.batches import FrameBatch
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.encoders.frozen_text import FrozenText
from vtr_core.errors import ConfigError
from vtr_core.nn.embeddings import TEXT, VIDEO, Embeddings
from vtr_core.nn.initialization import keep_size
from vtr_core.nn.mamba.learners import build_learner, reads_forward_alone
from vtr_core.nn.mamba.muse_block import (
    initialize_convolutions,
    initialize_learner,
    initialize_pyramid,
    mean_direction,
    of_unit_size,
    root_mean_square,
)
from vtr_core.nn.mamba.pyramid import CLS, Pyramid, ScaledFrames, TemporalScale, grids_of_videos, learned_changes
from vtr_core.nn.multi_level_encoding import SentenceEncoder
from vtr_core.nn.normalization import Standardization
from vtr_core.nn.precision import at_least_float32
from vtr_core.systems.muse.config import MuseConfig, TextByEncoder, TextVectors, TextWords
from vtr_core.systems.video_space import VideoTextModel
from vtr_core.text.tokens.vocabulary import PADDING


class TokenProjection(nn.Module):
    """W (t − mean) / std + b for every token t of a frame, with the statistics of [CLS], or of all patches together.

    Patches have the same statistics at all places, so that a channel that is rarely active at one is not amplified
    there.
    """

    def __init__(self, token_dim: int, grid: int | None, dim: int) -> None:
        super().__init__()
        self._token_dim = token_dim
        self.standardization = Standardization(token_dim if grid is None else 2 * token_dim)
        self.linear = nn.Linear(token_dim, dim)
        keep_size(self.linear)

    def load(self, statistics: FeatureStatistics) -> None:
        """Takes the statistics of a column of frames, of the values of all their tokens."""
        means, deviations = (
            torch.from_numpy(values).double().unflatten(0, (-1, self._token_dim))
            for values in (statistics.mean, statistics.std)
        )
        squares = means.square() + deviations.square()
        mean, square = (  # the row of [CLS], and the mean of the patches' if there are any
            values[0] if len(values) == 1 else torch.cat([values[0], values[1:].mean(dim=0)])
            for values in (means, squares)
        )
        std = (square - mean.square()).clamp(min=0).sqrt()
        self.standardization.load(FeatureStatistics(mean.float().numpy(), torch.where(std > 0, std, 1).float().numpy()))

    def forward(self, tokens: Float[Tensor, "rows frames tokens given"]) -> Float[Tensor, "rows frames tokens dim"]:
        """The mapped tokens, [CLS] first."""
        kinds = [0] + [1] * (tokens.shape[2] - 1)  # [CLS], patches
        mean, std = (
            values.unflatten(0, (-1, self._token_dim))[kinds]
            for values in (self.standardization.mean, self.standardization.std)
        )
        return self.linear((tokens.to(self.linear.weight.dtype) - mean) / std)


class Muse(VideoTextModel):
    """Videos and captions as unit vectors, whose product is their cosine (Tang et al. 2025).

    The output of a video is pooled from its [CLS] tokens only, after they have been mixed with all scales: a newly
    initialised model gives nearly the mean of its [CLS] tokens' directions (CLIP4Clip's meanP, Luo et al. 2021), with
    `initial_gate` 0 exactly. The temperature is part of the loss. Raises ConfigError for invalid inputs.
    """

    _place: Tensor

    def __init__(self, config: MuseConfig) -> None:
        super().__init__()
        self.config = config
        dim = _token_dim(config)
        self.tokens = None if config.token_dim is None else TokenProjection(dim, config.grid, config.token_dim)
        self.dim = dim if config.token_dim is None else config.token_dim
        published = config.compat == "muse_official"
        self.pyramid = None if config.grid is None else Pyramid(self.dim, config.grid, config.scales)
        self.temporal = nn.ModuleList(TemporalScale(self.dim, width) for width in config.temporal_scales)
        gate = None if published else config.initial_gate
        self.learner = build_learner(self.dim, config.learner, gate, config.norm, config.residual)
        self.words = _words(config, self.dim)
        self.reads_captions = self.words is not None
        if published and self.pyramid is not None:
            self.pyramid.requires_grad_(False)
        self.register_buffer("_place", torch.empty(0), persistent=False)
        self._kept_last = reads_forward_alone(config.learner)

    @property
    def device(self) -> torch.device:
        """The model's device, also for one without parameters."""
        return self._place.device

    def forward(self, batch: FrameBatch) -> Embeddings:
        """Both modalities of a batch; exactly 0 for a video without frames, or a caption without an in-vocabulary word
        or vector.
        """
        mask = batch.mask[self.config.feature]
        video = self.encode_videos(batch.frames[self.config.feature], mask)
        text = self.config.text
        captions = batch.frames[text.feature][:, 0] if isinstance(text, TextVectors) else batch.tokens
        return Embeddings(
            {TEXT: self.encode_text(captions), VIDEO: video}, {TEXT: self.known(captions), VIDEO: mask.any(dim=1)}
        )

    def encode_videos(
        self, frames: Float[Tensor, "rows frames values"], mask: Bool[Tensor, "rows frames"]
    ) -> Float[Tensor, "rows dim"]:
        """Unit vectors of videos given as rows of the feature column; exactly 0 for a video without frames."""
        return self.video(*self.split(frames), mask)

    def split(
        self, frames: Float[Tensor, "rows frames values"]
    ) -> tuple[Float[Tensor, "rows frames patches dim"] | None, Float[Tensor, "rows frames dim"]]:
        """Patches, if a scale is made of them, and [CLS] tokens of the feature column `config.feature`, projected if
        configured.
        """
        count = 1 if self.config.grid is None else 1 + self.config.grid**2
        cls_alone = self.config.scales == (CLS,)
        tokens = frames.unflatten(2, (count, -1))[:, :, : 1 if cls_alone else count]
        if self.tokens is not None:
            tokens = self.tokens(tokens)
        return None if cls_alone else tokens[:, :, 1:], tokens[:, :, 0]

    def video(
        self,
        patches: Float[Tensor, "rows frames patches dim"] | None,
        cls: Float[Tensor, "rows frames dim"],
        mask: Bool[Tensor, "rows frames"],
    ) -> Float[Tensor, "rows dim"]:
        """Unit vectors; exactly 0 for a video without frames. Tokens may have any precision."""
        frames = torch.where(mask.unsqueeze(2), cls, 0).to(self._place.dtype)
        if self.config.compat == "muse_official":  # its features are not scaled
            return mean_direction(frames + self._changes(patches, frames, mask), mask)
        size = root_mean_square(frames)  # so the output depends on the frames' directions, not on their length
        return mean_direction(frames + size * self._changes(patches, of_unit_size(frames, size), mask), mask)

    def encode_text(
        self, captions: Float[Tensor, "captions dim"] | Int64[Tensor, "captions max_words"]
    ) -> Float[Tensor, "captions dim"]:
        """Unit vectors of given vectors, or of tokens if the model has an encoder; exactly 0 for empty captions."""
        return normalize(at_least_float32(captions), dim=1) if self.words is None else self.words(captions)

    def known(
        self, captions: Float[Tensor, "captions dim"] | Int64[Tensor, "captions max_words"]
    ) -> Bool[Tensor, " captions"]:
        """Whether each caption has an in-vocabulary word, a text for an encoder, or a vector other than 0."""
        return (captions != 0).any(dim=1) if self.words is None else self.words.known(captions)

    def _changes(
        self,
        patches: Float[Tensor, "rows frames patches dim"] | None,
        frames: Float[Tensor, "rows frames dim"],
        mask: Bool[Tensor, "rows frames"],
    ) -> Float[Tensor, "rows anchors dim"]:
        """What the learner adds to the [CLS] tokens, from the tokens of all scales; see `learned_changes`."""
        spatial: list[Tensor] = []
        if self.pyramid is not None and patches is not None:
            spatial = grids_of_videos(self.pyramid, patches.to(frames.dtype), mask)
        elif self.config.scales != (1,):
            raise ConfigError(f"model.scales = {self.config.scales} need the patches of frames, and none were given")
        scaled = ScaledFrames(frames, mask, spatial, [scale(frames, mask) for scale in self.temporal])
        return learned_changes(scaled, self.config.aggregation, self.learner, self._kept_last)


class WordTower(nn.Module):
    """Text encoder from a caption's words to a unit vector."""

    def __init__(self, config: MuseConfig, text: TextWords, dim: int) -> None:
        super().__init__()
        self.encoder = SentenceEncoder(
            config.inputs.num_words,
            config.inputs.word_dim,
            text.levels,
            dropout=text.dropout,
            train_vectors=text.train_vectors,
        )
        self.linear = nn.Linear(self.encoder.out_dim, dim)

    def load_word_vectors(self, vectors: Float[Tensor, "words word_dim"]) -> None:
        """Sets the word vectors; see `SentenceEncoder.load_word_vectors`."""
        self.encoder.load_word_vectors(vectors)

    def known(self, tokens: Int64[Tensor, "captions max_words"]) -> Bool[Tensor, " captions"]:
        """Which captions have an in-vocabulary word."""
        return self.encoder.known(tokens)

    def forward(self, tokens: Int64[Tensor, "captions max_words"]) -> Float[Tensor, "captions dim"]:
        """Unit vectors; 0 for a caption without an in-vocabulary word."""
        known = self.known(tokens).unsqueeze(1)
        return normalize(at_least_float32(torch.where(known, self.linear(self.encoder(tokens)), 0)), dim=1)


class EncodedText(nn.Module):
    """A frozen encoder's vector of a caption's text, through a linear layer where the tokens' dimension is another."""

    def __init__(self, text: TextByEncoder, dim: int) -> None:
        super().__init__()
        self.text = FrozenText(text.encoder)
        self.dropout = nn.Dropout(text.dropout)
        self.linear = None if self.text.dim == dim else nn.Linear(self.text.dim, dim)

    def known(self, tokens: Int64[Tensor, "captions bytes"]) -> Bool[Tensor, " captions"]:
        """Which captions are not empty."""
        return (tokens != PADDING).any(dim=1)

    def forward(self, tokens: Int64[Tensor, "captions bytes"]) -> Float[Tensor, "captions dim"]:
        """Unit vectors; 0 for an empty caption."""
        vectors = self.text(tokens)
        if self.linear is None:
            return vectors
        mapped = self.linear(self.dropout(vectors * self.text.dim**0.5))
        return normalize(at_least_float32(torch.where(self.known(tokens).unsqueeze(1), mapped, 0)), dim=1)


def _words(config: MuseConfig, dim: int) -> WordTower | EncodedText | None:
    match config.text:
        case TextByEncoder():
            return EncodedText(config.text, dim)
        case TextWords():
            return WordTower(config, config.text, dim)
        case TextVectors():
            held = config.inputs.features.get(config.text.feature)
            if held != dim:
                raise ConfigError(
                    f"model.text.feature = {config.text.feature!r} must be a feature column of {dim} values, as tokens "
                    f"have; it is {'none of the data' if held is None else f'one of {held}'}"
                )
            return None
        case _:
            assert_never(config.text)


def _token_dim(config: MuseConfig) -> int:
    features = config.inputs.features
    if config.feature not in features:
        held = ", ".join(features) or "none"
        raise ConfigError(f"model.feature = {config.feature!r}, the data's feature columns are: {held}")
    values, tokens = features[config.feature], 1 if config.grid is None else 1 + config.grid**2
    if values % tokens:
        raise ConfigError(
            f"frames of {values} values are no [CLS] token and {config.grid} × {config.grid} patches of one dimension; "
            "set model.grid to the data's, or to None for frames of one vector"
        )
    return values // tokens


_WORDS = 10
"""Assumed number of words of a caption, each with count 1."""
_LEVEL_SIZE = 0.2
"""Assumed size of the values of levels 2 and 3: means of a GRU's outputs and maxima of convolutions."""


def initialize(model: Muse) -> None:
    """Initialises the weights of all linear maps, so that their outputs have size 1."""
    if model.pyramid is not None:
        initialize_pyramid(model.pyramid)
    for scale in model.temporal:
        assert isinstance(scale, TemporalScale)
        initialize_convolutions(scale)
    initialize_learner(model.learner)
    match model.words:
        case WordTower(encoder=encoder, linear=linear):
            # Below it torch's initialisation stays on purpose: word vectors of size 1, and a GRU and convolutions
            # uniform within ±1/√in, whose small outputs leave most of the energy to the word counts.
            energy = _WORDS + _LEVEL_SIZE**2 * encoder.levels.out_dim
            keep_size(linear, in_size=sqrt(energy / linear.in_features))
        case EncodedText() if model.words.linear is not None:
            keep_size(model.words.linear)
