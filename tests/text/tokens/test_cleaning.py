import pytest

from vtr_core.text.tokens.vocabulary import clean_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A Dog RUNS", ["a", "dog", "runs"]),
        ("don't stop: 2 eggs—now!", ["don", "t", "stop", "2", "eggs", "now"]),
        ("crème_brulée", ["cr", "me", "brul", "e"]),
        ("собака бежит", []),
        ("  \t…", []),
    ],
)
def test_everything_but_latin_letters_and_digits_is_space(text, words):
    assert clean_words(text) == words
