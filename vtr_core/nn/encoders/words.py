"""Caption encoder without word order: a linear layer on word vectors, pooled over the words."""

from typing import assert_never

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from vtr_core.config.blocks.words import WordEncoderConfig
from vtr_core.errors import InputError

PADDING = 0


class WordEncoder(nn.Module):
    """Pools ReLU(W e + b) over the words of a caption, e their word vectors (Miech et al. 2019, section 4).

    Token 0 is padding and takes no part in the pooling, neither in a maximum nor in a mean. A caption of no words gives
    zeros. Word vectors are trained; those that `load_word_vectors` has loaded only with `train_vectors`.

    given: a module from tokens to (e, which of them are words), in the place of these vectors.
    """

    def __init__(
        self, num_words: int, word_dim: int, config: WordEncoderConfig, given: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.vectors = nn.Embedding(num_words + 1, word_dim, padding_idx=PADDING) if given is None else given
        self.linear = nn.Linear(word_dim, config.hidden_dim)
        self.dropout = nn.Dropout(config.dropout)
        self.out_dim = config.hidden_dim * (2 if config.pooling == "max_mean" else 1)

    def load_word_vectors(self, vectors: Float[Tensor, "words word_dim"]) -> None:
        """Take `vectors` as the vectors of the words 1, 2, …, and freeze them unless `train_vectors`.

        Raises InputError where their number or dimension is not the vocabulary's.
        """
        assert isinstance(self.vectors, nn.Embedding), "an encoder's vectors are its own"
        num_words, word_dim = self.vectors.num_embeddings - 1, self.vectors.embedding_dim
        if vectors.shape != (num_words, word_dim):
            raise InputError(
                f"word vectors are {tuple(vectors.shape)}, the vocabulary needs ({num_words}, {word_dim}); "
                "ingest the data set with the same word-vector file"
            )
        with torch.no_grad():
            self.vectors.weight[1:] = vectors.to(self.vectors.weight)
        self.vectors.weight.requires_grad_(self.config.train_vectors)

    def forward(self, tokens: Int64[Tensor, "batch max_words"]) -> Float[Tensor, "batch out_dim"]:
        """The vector of each caption, `out_dim` long."""
        vectors, words = self._vectors(tokens)
        if self.training and self.config.word_dropout:
            words = keep_words(words, self.config.word_dropout)
        hidden = torch.relu(self.linear(vectors)) * words.unsqueeze(-1)
        pooled = self._pool(hidden, words)
        return self.dropout(layer_norm(pooled, pooled.shape[1:]) if self.config.layer_norm else pooled)

    def _vectors(
        self, tokens: Int64[Tensor, "batch max_words"]
    ) -> tuple[Float[Tensor, "batch words word_dim"], Bool[Tensor, "batch words"]]:
        if isinstance(self.vectors, nn.Embedding):
            return self.vectors(tokens), tokens != PADDING
        vectors, words = self.vectors(tokens)
        return vectors.to(self.linear.weight.dtype), words

    def _pool(
        self, hidden: Float[Tensor, "batch max_words hidden"], words: Bool[Tensor, "batch max_words"]
    ) -> Float[Tensor, "batch out_dim"]:
        """`hidden`, zero where there is no word, pooled over the words."""
        match self.config.pooling:
            case "max":  # of values that are never negative, so the zeros of padding change no maximum
                return hidden.amax(dim=1)
            case "mean":
                return _mean(hidden, words)
            case "max_mean":
                return torch.cat([hidden.amax(dim=1), _mean(hidden, words)], dim=1)
            case _:
                assert_never(self.config.pooling)


def _mean(
    hidden: Float[Tensor, "batch max_words hidden"], words: Bool[Tensor, "batch max_words"]
) -> Float[Tensor, "batch hidden"]:
    return hidden.sum(dim=1) / words.sum(dim=1, keepdim=True).clamp(min=1)


def keep_words(words: Bool[Tensor, "batch max_words"], rate: float) -> Bool[Tensor, "batch max_words"]:
    """`words` with each one dropped with probability `rate`; of each caption at least one word is kept."""
    draws = torch.rand(words.shape, device=words.device).masked_fill(~words, -1.0)
    return words & ((draws >= rate) | (draws == draws.amax(dim=1, keepdim=True)))
