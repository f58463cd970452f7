"""Multi-level sentence encoder: bag of words, biGRU, convolutions."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from vtr_core.config.blocks.temporal_levels import TemporalLevelsConfig
from vtr_core.errors import InputError
from vtr_core.nn.encoders.temporal_levels import TemporalLevels
from vtr_core.nn.fan_in import embedding
from vtr_core.text.tokens.vocabulary import NUM_SPECIAL, PADDING


class SentenceEncoder(nn.Module):
    """φ(s) = [word counts; mean of the biGRU outputs; max-pooled convolutions of them] (thesis, Eq. 3.6).

    Level 1 counts the vocabulary's words 1, …, `num_words`. Levels 2 and 3 read the word vectors of <start>, the words,
    <end>. A token `num_words` + 3 is an unknown word, which levels 2 and 3 read and level 1 does not count.
    train_vectors: loaded word vectors are trained too; padded_windows: windows of padding alone take part in the
    maximum over time; word_bound: word vectors start uniform within ± this, not as standard normal numbers.
    """

    def __init__(
        self,
        num_words: int,
        word_dim: int,
        levels: TemporalLevelsConfig,
        *,
        dropout: float,
        train_vectors: bool,
        padded_windows: bool = False,
        word_bound: float | None = None,
    ) -> None:
        super().__init__()
        self.num_words = num_words
        self._train_vectors = train_vectors
        self._padded_windows = padded_windows
        self.vectors = embedding(num_words + NUM_SPECIAL, word_dim, PADDING, word_bound)
        self.levels = TemporalLevels(word_dim, levels, dropout, False, padded_windows)
        self.out_dim = num_words + self.levels.out_dim

    def load_word_vectors(self, vectors: Float[Tensor, "words word_dim"]) -> None:
        """Take `vectors` as the vectors of the words 1, 2, …; all are frozen unless `train_vectors`.

        Raises InputError where their number or dimension is not the vocabulary's.
        """
        expected = (self.num_words, self.vectors.embedding_dim)
        if vectors.shape != expected:
            raise InputError(
                f"word vectors are {tuple(vectors.shape)}, the vocabulary needs {expected}; "
                "ingest the data set with the same word-vector file"
            )
        with torch.no_grad():
            self.vectors.weight[1 : 1 + self.num_words] = vectors.to(self.vectors.weight)
        self.vectors.weight.requires_grad_(self._train_vectors)

    def known(self, tokens: Int64[Tensor, "rows max_words"]) -> Bool[Tensor, " rows"]:
        """Which captions have at least one word of the vocabulary."""
        return self._words(tokens).any(dim=1)

    def forward(self, tokens: Int64[Tensor, "rows max_words"]) -> Float[Tensor, "rows out_dim"]:
        """The vector of each caption, 0 for one without a known word. Padding, token 0, comes after the words."""
        present = self.known(tokens).unsqueeze(1)
        tokens = tokens if self._padded_windows else _to_longest(tokens)
        sequence = self._with_ends(tokens)
        levels = self.levels(self.vectors(sequence), sequence != PADDING)
        return torch.where(present, torch.cat([self.counts(tokens).to(levels), levels], dim=1), 0)

    def counts(self, tokens: Int64[Tensor, "rows max_words"]) -> Float[Tensor, "rows words"]:
        """Level 1: the number of occurrences of each vocabulary word in a caption."""
        words = self._words(tokens)
        counts = self.vectors.weight.new_zeros((len(tokens), self.num_words + 1))
        counts.scatter_add_(1, torch.where(words, tokens, 0), words.to(counts))
        return counts[:, 1:]

    def _words(self, tokens: Int64[Tensor, "rows max_words"]) -> Bool[Tensor, "rows max_words"]:
        return (tokens != PADDING) & (tokens <= self.num_words)

    def _with_ends(self, tokens: Int64[Tensor, "rows max_words"]) -> Int64[Tensor, "rows steps"]:
        """<start>, the tokens, <end>, padding."""
        edge = tokens.new_zeros((len(tokens), 1))
        sequence = torch.cat([edge + self.num_words + 1, tokens, edge], dim=1)
        end = (tokens != PADDING).sum(dim=1, keepdim=True) + 1
        return sequence.scatter(1, end, edge + self.num_words + 2)


def _to_longest(tokens: Int64[Tensor, "rows max_words"]) -> Int64[Tensor, "rows words"]:
    """The tokens without the padding that all rows have at their end; one column at least."""
    longest = int((tokens != PADDING).sum(dim=1).max()) if tokens.numel() else 0
    return tokens[:, : max(1, longest)]
