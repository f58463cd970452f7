"""Input layers of joint-space models: one vector per modality, standardised where configured."""

from collections.abc import Mapping
from typing import cast

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from vtr_core.config.blocks.text_encoder import UNKNOWN_FINGERPRINT, EncoderRecord
from vtr_core.data.batches.batch import ClipBatch
from vtr_core.data.reading.statistics import FeatureStatistics
from vtr_core.encoders.frozen_text import FrozenText
from vtr_core.errors import ConfigError
from vtr_core.nn.embeddings import TEXT
from vtr_core.nn.encoders.words import WordEncoder
from vtr_core.nn.standardization import Standardization
from vtr_core.systems.capsules.config import JointSpaceSettings
from vtr_core.systems.capsules.vector_frames import VectorFrames


class ModalityVectors(nn.Module):
    """The pooled words of every caption, and every feature as the model's input.

    Features come in the parameters' precision, standardised where configured, exactly 0 in the rows that lack them, and
    with dropout; with `frame_block` MUSE's block changes the frames of one. Raises ConfigError without features, with
    one whose name is that of the captions' modality, and for a `frame_block` of another.
    """

    def __init__(self, config: JointSpaceSettings) -> None:
        super().__init__()
        _check(config.inputs.features)
        features = config.inputs.features
        record = config.words.encoder
        tokens = None if record is None else EncoderTokens(record)
        word_dim = config.inputs.word_dim if tokens is None else tokens.dim
        self.words = WordEncoder(config.inputs.num_words, word_dim, config.words, tokens)
        standardized = features if config.standardize else {}
        self.standardization = nn.ModuleDict({name: Standardization(dim) for name, dim in standardized.items()})
        self.frame_blocks = nn.ModuleDict(_frame_blocks(config))
        self.input_dropout = nn.Dropout(config.input_dropout)
        self.dims = {TEXT: self.words.out_dim, **features}

    def load_word_vectors(self, vectors: Float[Tensor, "words word_dim"]) -> None:
        """Sets the word vectors; see `WordEncoder.load_word_vectors`."""
        self.words.load_word_vectors(vectors)

    def load_statistics(self, statistics: Mapping[str, FeatureStatistics]) -> None:
        """Sets the training data's statistics of every standardised feature."""
        for name, module in self.standardization.items():
            cast(Standardization, module).load(statistics[name])

    def forward(self, batch: ClipBatch) -> dict[str, Float[Tensor, "_ _"]]:
        """By modality, text first: (batch, dim), and for text (batch · (1 + extra), dim) in the order of `captions`."""
        features = {name: self.input_dropout(self._feature(name, batch)) for name in self.dims if name != TEXT}
        return {TEXT: self.words(captions(batch)), **features}

    def _feature(self, name: str, batch: ClipBatch) -> Float[Tensor, "batch dim"]:
        present = batch.present[name].unsqueeze(1)
        values = torch.where(present, batch.features[name], 0).to(self.words.linear.weight.dtype)
        if name in self.standardization:
            values = torch.where(present, self.standardization[name](values), 0)
        return self.frame_blocks[name](values) if name in self.frame_blocks else values


class EncoderTokens(nn.Module):
    """The vectors of a pretrained encoder's tokens, each brought to mean 0 and size 1, in the place of word vectors.

    Input: captions as texts in UTF-8. ConfigError for an encoder without vectors of tokens.
    """

    def __init__(self, record: EncoderRecord) -> None:
        super().__init__()
        if record.token_dim is None and record.fingerprint != UNKNOWN_FINGERPRINT:
            raise ConfigError(f"{record.name} gives no vectors of tokens, which take the place of words; name another")
        self.text = FrozenText(record)
        self.dim = record.token_dim or record.dim

    def forward(
        self, tokens: Int64[Tensor, "captions bytes"]
    ) -> tuple[Float[Tensor, "captions tokens dim"], Bool[Tensor, "captions tokens"]]:
        """The vectors, and which places are tokens."""
        found = self.text.tokens(tokens)
        return layer_norm(found.vectors, (self.dim,)), found.mask


def captions(batch: ClipBatch) -> Int64[Tensor, "captions max_words"]:
    """All captions of a batch in one list: the rows' own, then the candidates of the first row, of the second, …"""
    if batch.candidate_tokens is None:
        return batch.tokens
    return torch.cat([batch.tokens, batch.candidate_tokens.flatten(0, 1)])


def _check(features: Mapping[str, int]) -> None:
    if not features:
        raise ConfigError(
            "model.inputs.features is empty; a data set's manifest, or the caller, must name its features"
        )
    if TEXT in features:
        raise ConfigError(f"model.inputs.features: {TEXT!r} is the captions' modality; rename that feature column")


def _frame_blocks(config: JointSpaceSettings) -> dict[str, nn.Module]:
    """The block of the feature that has one."""
    block, features = config.frame_block, config.inputs.features
    if block is None:
        return {}
    if block.feature not in features:
        raise ConfigError(f"model.frame_block.feature = {block.feature!r}, the model's features: {', '.join(features)}")
    return {block.feature: VectorFrames(features[block.feature], block)}
