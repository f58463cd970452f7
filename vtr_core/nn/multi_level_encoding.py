"""Multi-level encoding of sequences without padding: a biGRU, convolutions over it; of sentences."""

from typing import cast

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from vtr_core.config.towers import TemporalLevelsConfig
from vtr_core.errors import InputError
from vtr_core.nn.initialization import embedding
from vtr_core.text.tokens.vocabulary import NUM_SPECIAL, PADDING


def padded_gru(
    gru: nn.GRU, values: Float[Tensor, "rows steps dim"], lengths: Int64[Tensor, " rows"]
) -> Float[Tensor, "rows steps hidden"]:
    """The outputs of `gru`, of one layer and both directions, over the first `lengths` steps of every row.

    What it has at later steps says nothing. On a GPU the sequences are packed. On a CPU torch's backward pass of packed
    sequences fills a gradient of all steps with zeros at every step, in a profile a third of the dual encoder's step;
    there each direction runs over the padded rows, the backward one over their reversed steps.
    """
    if values.is_cuda:
        packed = pack_padded_sequence(values, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(gru(packed)[0], batch_first=True, total_length=values.shape[1])[0]
    forward = _one_direction(gru, "l0", values)
    backward = _one_direction(gru, "l0_reverse", _reversed(values, lengths))
    return torch.cat([forward, _reversed(backward, lengths)], dim=2)


def _one_direction(
    gru: nn.GRU, name: str, values: Float[Tensor, "rows steps dim"]
) -> Float[Tensor, "rows steps hidden"]:
    parts = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    weights: list[Tensor] = [gru.get_parameter(f"{part}_{name}") for part in parts]
    start = values.new_zeros(1, len(values), gru.hidden_size)
    outputs: Tensor = torch.gru(values, start, weights, True, 1, 0.0, gru.training, False, True)[0]
    return outputs


def _reversed(
    values: Float[Tensor, "rows steps dim"], lengths: Int64[Tensor, " rows"]
) -> Float[Tensor, "rows steps dim"]:
    """The first `lengths` steps of every row in reversed order; then any of its steps."""
    step = (lengths.unsqueeze(1) - 1 - torch.arange(values.shape[1], device=values.device)).clamp(min=0)
    return values.gather(1, step.unsqueeze(2).expand_as(values))


def strongest_responses(
    convolutions: nn.ModuleList,
    hidden: Float[Tensor, "rows steps dim"],
    mask: Bool[Tensor, "rows steps"],
    padded_windows: bool,
) -> Float[Tensor, "rows filters"]:
    """max over time of ReLU(conv(h)) of every row and filter, side by side for all convolutions.

    A row's steps come first and are true in `mask`. A convolution of width k is padded with k − 1 zeros, so that a row
    of n steps has n + k − 1 windows. The rows lie in one line, k − 1 zeros or more behind each, which is both its
    padding and the next row's. padded_windows: windows beyond these, which see padding alone and respond with
    ReLU(bias), take part in the maximum of rows that are shorter than `mask`.
    """
    layers = [cast(nn.Conv1d, layer) for layer in convolutions]
    gap = max(layer.kernel_size[0] for layer in layers) - 1
    strongest, lengths = [], mask.sum(dim=1)
    first = torch.cumsum(lengths + gap, dim=0) - (lengths + gap)
    line = _line(hidden, mask, first, gap).T.contiguous().unsqueeze(0)
    for layer in layers:
        responses, before = torch.relu(layer(line))[0].T, layer.kernel_size[0] - 1
        window = torch.arange(mask.shape[1] + before, device=mask.device)
        own = responses[(first.unsqueeze(1) + window).clamp(max=len(responses) - 1)]
        real = (window < (lengths + before).unsqueeze(1)).unsqueeze(2)
        # a response is never negative, so 0 changes no maximum
        other = torch.relu(layer.bias) if padded_windows and layer.bias is not None else 0.0
        strongest.append(torch.where(real, own, other).amax(dim=1))
    return torch.cat(strongest, dim=1)


def _line(
    hidden: Float[Tensor, "rows steps dim"], mask: Bool[Tensor, "rows steps"], first: Int64[Tensor, " rows"], gap: int
) -> Float[Tensor, "total dim"]:
    """All steps of all rows one after another, row i from `first[i]` on, with `gap` zeros behind each row."""
    steps = hidden[mask]
    place = (first.unsqueeze(1) + torch.arange(mask.shape[1], device=mask.device))[mask]
    return steps.new_zeros(len(steps) + gap * len(hidden), hidden.shape[2]).index_copy(0, place, steps)


class TemporalLevels(nn.Module):
    """[mean over steps of h_t; max over time of ReLU(conv_k(h)) for every width k], h the outputs of a biGRU.

    Level 2 is 2 · hidden_dim long, level 3 num_filters for each width; a convolution is padded with k − 1 zeros on both
    sides. Source: Dong et al. 2021, "Dual encoding for video retrieval by text", Eq. 3.2 to 3.5 of the thesis.

    Padding changes no output: the GRU never reads it, and a window of padding alone takes no part in the maximum.
    reads_padding: as in the published code for frames, the backward GRU starts in the padding, whose outputs are then
    set to 0. padded_windows: windows of padding alone, ReLU(bias), take part in the maximum.
    """

    def __init__(
        self, in_dim: int, config: TemporalLevelsConfig, dropout: float, reads_padding: bool, padded_windows: bool
    ) -> None:
        super().__init__()
        self._reads_padding, self._padded_windows = reads_padding, padded_windows
        self.gru = nn.GRU(in_dim, config.hidden_dim, batch_first=True, bidirectional=True)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(2 * config.hidden_dim, config.num_filters, width, padding=width - 1)
            for width in config.kernel_sizes
        )
        self.dropout = nn.Dropout(dropout)
        self.out_dim = 2 * config.hidden_dim + len(config.kernel_sizes) * config.num_filters

    def forward(
        self, values: Float[Tensor, "rows steps dim"], mask: Bool[Tensor, "rows steps"]
    ) -> Float[Tensor, "rows out_dim"]:
        """Levels 2 and 3 of each row, whose steps come first and are true in `mask`; a row without any gives zeros."""
        if not len(values):  # a GRU takes at least one row
            return values.new_zeros((0, self.out_dim))
        values = torch.where(mask.unsqueeze(2), values, 0)
        lengths = mask.sum(dim=1)
        hidden = torch.where(mask.unsqueeze(2), self._hidden(values, lengths), 0)
        mean = hidden.sum(dim=1) / lengths.clamp(min=1).unsqueeze(1)
        local = strongest_responses(self.convolutions, hidden, mask, self._padded_windows)
        levels = torch.cat([self.dropout(mean), self.dropout(local)], dim=1)
        return torch.where((lengths > 0).unsqueeze(1), levels, 0)

    def _hidden(
        self, values: Float[Tensor, "rows steps dim"], lengths: Int64[Tensor, " rows"]
    ) -> Float[Tensor, "rows steps hidden"]:
        # Autocast would run the GRU in float16 on a GPU, where its gradients underflow without loss scaling.
        with torch.autocast(values.device.type, enabled=False):
            values = values.to(self.gru.weight_hh_l0.dtype)  # type: ignore[arg-type]
            return self.gru(values)[0] if self._reads_padding else padded_gru(self.gru, values, lengths)


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
        edge = tokens.new_zeros((len(tokens), 1))
        sequence = torch.cat([edge + self.num_words + 1, tokens, edge], dim=1)
        end = (tokens != PADDING).sum(dim=1, keepdim=True) + 1
        return sequence.scatter(1, end, edge + self.num_words + 2)


def _to_longest(tokens: Int64[Tensor, "rows max_words"]) -> Int64[Tensor, "rows words"]:
    """The tokens without the padding that all rows have at their end; one column at least."""
    longest = int((tokens != PADDING).sum(dim=1).max()) if tokens.numel() else 0
    return tokens[:, : max(1, longest)]
