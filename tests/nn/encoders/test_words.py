import pytest
import torch

from vtr_core.config.data_sets import WordEncoderConfig
from vtr_core.errors import InputError
from vtr_core.systems.capsules.model import WordEncoder, keep_words

TOKENS = torch.tensor([[3, 1, 0, 0], [2, 2, 5, 4], [0, 0, 0, 0], [5, 0, 0, 0]])


def _encoder(**config):
    torch.manual_seed(0)
    return WordEncoder(5, 3, WordEncoderConfig(hidden_dim=6, **config)).double()


@pytest.mark.parametrize("pooling", ["max", "mean", "max_mean"])
def test_pooling_equals_slow_code(pooling):
    encoder = _encoder(pooling=pooling)
    encoded = encoder(TOKENS)
    for row, tokens in enumerate(TOKENS):
        words = [encoder.linear(encoder.vectors.weight[token]).relu() for token in tokens if token]
        pooled = {"max": lambda w: torch.stack(w).amax(0), "mean": lambda w: sum(w) / len(w)}
        expected = torch.zeros(encoder.out_dim, dtype=torch.float64)
        if words:
            expected = torch.cat([pooled[part](words) for part in pooling.split("_")])
        torch.testing.assert_close(encoded[row], expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("pooling", ["max", "mean", "max_mean"])
def test_padding_changes_nothing(pooling):
    encoder = _encoder(pooling=pooling)
    with torch.no_grad():
        encoder.linear.bias.fill_(2.0)  # would leak into the pooling of padded slots
    padded = torch.nn.functional.pad(TOKENS, (0, 7))
    torch.testing.assert_close(encoder(padded), encoder(TOKENS), atol=1e-12, rtol=0)
    assert (encoder(TOKENS)[2] == 0).all()


def test_vectors_are_trained_until_they_are_given():
    encoder = _encoder()
    assert encoder.vectors.weight.requires_grad
    vectors = torch.randn(5, 3)
    encoder.load_word_vectors(vectors)
    assert not encoder.vectors.weight.requires_grad
    torch.testing.assert_close(encoder.vectors.weight[1:], vectors.double())
    assert (encoder.vectors.weight[0] == 0).all()
    trained = _encoder(train_vectors=True)
    trained.load_word_vectors(vectors)
    assert trained.vectors.weight.requires_grad
    with pytest.raises(InputError, match=r"\(4, 3\), the vocabulary needs \(5, 3\)"):
        encoder.load_word_vectors(vectors[:4])


def test_word_dropout_never_drops_a_whole_caption():
    torch.manual_seed(0)
    words = TOKENS.repeat(200, 1) != 0
    kept = keep_words(words, 0.9)
    assert (kept <= words).all()
    assert torch.equal(kept.any(dim=1), words.any(dim=1))
    assert kept.sum() < 0.5 * words.sum()


def test_word_dropout_keeps_its_share():
    torch.manual_seed(0)
    kept = keep_words(torch.ones(4000, 20, dtype=torch.bool), 0.3)
    assert kept.float().mean().item() == pytest.approx(0.7, abs=0.01)
