"""A frozen text encoder inside a model: its vectors, what it keeps, and that it refuses another encoder's weights."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from vtr_core.config.pretrained import EncoderRecord
from vtr_core.encoders import frozen_text
from vtr_core.encoders.encoder import Encoder, TokenVectors
from vtr_core.encoders.frozen_text import FrozenText
from vtr_core.errors import CheckpointError
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, Vocabulary

FINGERPRINT = "ab" * 32
RECORD = EncoderRecord(name="letters", fingerprint=FINGERPRINT, dim=2, token_dim=1)


class Letters(Encoder):
    """A text's vector has its length and its number of spaces; a token is a letter."""

    name, fingerprint, dim, token_dim = "letters", FINGERPRINT, 2, 1

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode_text(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return np.array([[len(text), text.count(" ")] for text in texts], np.float32)

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        self.asked += texts
        longest = max(map(len, texts))
        codes = [[float(ord(letter)) for letter in text.ljust(longest)] for text in texts]
        mask = torch.arange(longest) < torch.tensor([len(text) for text in texts])[:, None]
        return TokenVectors(torch.tensor(codes)[:, :, None], mask)


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> Letters:
    encoder = Letters()
    frozen_text._kept_vectors.cache_clear()
    monkeypatch.setattr(frozen_text, "encoder", lambda name, device: encoder)
    return encoder


def tokens(*texts: str) -> torch.Tensor:
    return torch.from_numpy(Vocabulary.utf8().encode_all(texts, TEXT_BYTES).astype(np.int64))


def test_vectors_are_the_encoders_and_each_text_is_encoded_once(letters: Letters) -> None:
    text = FrozenText(RECORD)
    expected = torch.tensor([[5.0, 1.0], [0.0, 0.0], [2.0, 0.0], [5.0, 1.0]])
    for _ in range(2):
        torch.testing.assert_close(text(tokens("a dog", "", "hé", "a dog")), expected)
    assert letters.asked == ["a dog", "hé"]


def test_tokens_are_padded_and_an_empty_text_has_none(letters: Letters) -> None:
    text = FrozenText(RECORD)
    for _ in range(2):
        rows = text.tokens(tokens("ab", "", "abc"))
        assert rows.mask.sum(dim=1).tolist() == [2, 0, 3]
        assert rows.vectors[2, :3, 0].tolist() == [97.0, 98.0, 99.0]
        assert (rows.vectors[~rows.mask] == 0).all()
    assert letters.asked == ["ab", "abc"]


def test_what_is_kept_is_bounded(letters: Letters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen_text, "KEPT_BYTES", 4 * 8)  # four vectors
    text = FrozenText(RECORD)
    text(tokens(*[str(number) for number in range(10)]))
    text(tokens("9"))
    assert letters.asked == [str(number) for number in range(10)]
    text(tokens("0"))
    assert letters.asked[-1] == "0"


def test_another_encoder_of_the_same_name_is_refused(letters: Letters) -> None:
    letters.fingerprint = "cd" * 32
    with pytest.raises(CheckpointError, match=r"abababababab.*cdcdcdcdcdcd.*cannot be compared"):
        FrozenText(RECORD)(tokens("a dog"))


def test_the_state_names_the_encoder_and_has_none_of_its_weights() -> None:
    state = FrozenText(RECORD).state_dict()
    assert list(state) == ["fingerprint"]
    assert bytes(state["fingerprint"].tolist()).hex() == FINGERPRINT
