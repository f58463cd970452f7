"""Levels of a sequence: GRU, convolutions, counts of words."""

import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.reference import dual as slow_dual
from vtr_core.config.towers import TemporalLevelsConfig
from vtr_core.errors import InputError
from vtr_core.nn.multi_level_encoding import SentenceEncoder, TemporalLevels, padded_gru

GRU_LENGTHS = torch.tensor([3, 7, 1, 5])
GRU_STEPS = 9


def packed(gru: torch.nn.GRU, values: Tensor) -> Tensor:
    sequences = pack_padded_sequence(values, GRU_LENGTHS, batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(gru(sequences)[0], batch_first=True, total_length=GRU_STEPS)[0]


def test_it_equals_packed_sequences() -> None:
    torch.manual_seed(0)
    gru = torch.nn.GRU(6, 4, batch_first=True, bidirectional=True).double()
    given = torch.randn(len(GRU_LENGTHS), GRU_STEPS, 6, dtype=torch.float64)
    weights = torch.randn(len(GRU_LENGTHS), GRU_STEPS, 8, dtype=torch.float64)
    known = (torch.arange(GRU_STEPS) < GRU_LENGTHS.unsqueeze(1)).unsqueeze(2)
    outputs, gradients = [], []
    for run in (lambda values: padded_gru(gru, values, GRU_LENGTHS), lambda values: packed(gru, values)):
        values = given.clone().requires_grad_()
        outputs.append(torch.where(known, run(values), 0))
        inner = (outputs[-1] * weights).sum()
        gradients.append(torch.autograd.grad(inner, [values, *gru.parameters()]))
    torch.testing.assert_close(*outputs, rtol=0, atol=1e-14)
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    assert (gradients[0][0][~known.squeeze(2)] == 0).all()


WORDS, WORD_DIM = 5, 4
START, END, UNKNOWN = 6, 7, 8
LEVELS = TemporalLevelsConfig(hidden_dim=3, num_filters=2, kernel_sizes=(2, 3))


def _encoder(train_vectors: bool = True) -> SentenceEncoder:
    torch.manual_seed(0)
    return SentenceEncoder(WORDS, WORD_DIM, LEVELS, dropout=0.0, train_vectors=train_vectors)


TOKENS = torch.tensor([[2, 5, 2, 0], [0, 0, 0, 0], [1, 2, 3, 4], [UNKNOWN, 3, 0, 0], [UNKNOWN, 0, 0, 0]])


def test_level_1_counts_the_words_of_the_vocabulary() -> None:
    found = _encoder()(TOKENS)[:, :WORDS]
    expected = torch.tensor([[0, 2, 0, 0, 1], [0] * 5, [1, 1, 1, 1, 0], [0, 0, 1, 0, 0], [0] * 5])
    assert torch.equal(found, expected.float())


def test_levels_2_and_3_read_start_words_and_end() -> None:
    encoder = _encoder()
    sequence = torch.tensor([[START, 2, 5, 2, END], [START, 1, 2, 3, 4], [START, UNKNOWN, 3, END, 0]])
    vectors = encoder.vectors(sequence)
    full = encoder.vectors(torch.tensor([[START, 1, 2, 3, 4, END]]))
    found = encoder(TOKENS)[:, WORDS:]
    short = encoder.levels(vectors, sequence != 0)
    torch.testing.assert_close(found[[0, 3]], short[[0, 2]])
    torch.testing.assert_close(found[[2]], encoder.levels(full, torch.ones(1, 6, dtype=torch.bool)))


def test_a_caption_without_a_known_word_is_exactly_0() -> None:
    encoder = _encoder()
    assert encoder.known(TOKENS).tolist() == [True, False, True, True, False]
    assert (encoder(TOKENS)[[1, 4]] == 0).all()


@pytest.mark.parametrize("trained", [True, False])
def test_given_word_vectors_are_those_of_the_words(trained: bool) -> None:
    encoder, vectors = _encoder(train_vectors=trained), torch.arange(20.0).reshape(WORDS, WORD_DIM)
    special = encoder.vectors.weight[[0, START, END, UNKNOWN]].clone()
    encoder.load_word_vectors(vectors)
    assert torch.equal(encoder.vectors(torch.arange(1, 6)), vectors)
    assert torch.equal(encoder.vectors.weight[[0, START, END, UNKNOWN]], special)
    assert encoder.vectors.weight.requires_grad == trained
    with pytest.raises(InputError, match=r"word vectors are \(4, 4\), the vocabulary needs \(5, 4\)"):
        encoder.load_word_vectors(vectors[1:])


DIM, STEPS = 6, 7
LENGTHS = (3, 7, 0, 1, 5)
SMALL = TemporalLevelsConfig(hidden_dim=4, num_filters=3, kernel_sizes=(2, 3, 5))


def _levels(reads_padding: bool = False, padded_windows: bool = False, dropout: float = 0.0) -> TemporalLevels:
    torch.manual_seed(0)
    return TemporalLevels(DIM, SMALL, dropout, reads_padding, padded_windows).double()


def _batch(steps: int = STEPS) -> tuple[Tensor, Tensor]:
    values = torch.randn(len(LENGTHS), STEPS, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    values = torch.cat([values, torch.full((len(LENGTHS), steps - STEPS, DIM), torch.nan)], dim=1)
    return values, torch.arange(steps) < torch.tensor(LENGTHS).unsqueeze(1)


def test_every_row_equals_the_row_by_itself() -> None:
    levels, (values, mask) = _levels(), _batch()
    found = levels(values, mask)
    assert found.shape == (len(LENGTHS), levels.out_dim)
    for row, length in enumerate(LENGTHS):
        expected = slow_dual.temporal_levels(levels, values[row, :length]) if length else torch.zeros(levels.out_dim)
        torch.testing.assert_close(found[row], expected.to(found))


@pytest.mark.parametrize("steps", [8, 20])
def test_padding_changes_nothing_whatever_it_holds(steps: int) -> None:
    levels = _levels()
    torch.testing.assert_close(levels(*_batch(steps)), levels(*_batch()), rtol=0, atol=1e-14)


def test_neither_do_the_gradients() -> None:
    gradients = []
    for steps in (STEPS, 12):
        levels = _levels()
        levels(*_batch(steps)).square().sum().backward()
        gradients.append([parameter.grad for parameter in levels.parameters()])
    for one, other in zip(*gradients, strict=True):
        assert one is not None
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_the_published_code_reads_the_padding() -> None:
    ours, published = _levels(), _levels(reads_padding=True)
    found, expected = published(*_batch()), ours(*_batch())
    torch.testing.assert_close(found[1], expected[1])  # a row without padding
    forward, backward = slice(0, SMALL.hidden_dim), slice(SMALL.hidden_dim, 2 * SMALL.hidden_dim)
    torch.testing.assert_close(found[0, forward], expected[0, forward])
    assert not torch.allclose(found[0, backward], expected[0, backward])
    assert (found[2] == 0).all()


def test_the_published_code_takes_windows_of_padding_into_the_maximum() -> None:
    """Weights that silence every window with the one step of row 3: only windows of padding respond, with the bias."""
    values, mask = _batch()
    for padded_windows, expected in ((False, 0.0), (True, 1.0)):
        levels = _levels(padded_windows=padded_windows)
        with torch.no_grad():
            hidden = levels.gru(values[3:4, :1])[0][0, 0]
            for convolution in levels.convolutions:
                convolution.bias.fill_(1.0)
                convolution.weight.copy_((-100 * hidden / hidden.square().sum()).reshape(1, -1, 1))
        assert (levels(values, mask)[3, -9:] == expected).all()
