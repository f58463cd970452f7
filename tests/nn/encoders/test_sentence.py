"""The sentence encoder's tokens: counts of words, and where the special words stand."""

import pytest
import torch

from vtr_core.config.towers import TemporalLevelsConfig
from vtr_core.errors import InputError
from vtr_core.nn.multi_level_encoding import SentenceEncoder

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


def test_more_room_changes_nothing() -> None:
    encoder, more = _encoder(), torch.nn.functional.pad(TOKENS, (0, 6))
    torch.testing.assert_close(encoder(more), encoder(TOKENS))


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
