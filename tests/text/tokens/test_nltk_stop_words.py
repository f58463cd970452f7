"""The stop words of the published code, and what they leave."""

from vtr_core.text.concepts import NLTK_STOP_WORDS, is_no_nltk_stop_word


def test_the_list_is_as_long_as_that_of_2021_and_leaves_prepositions() -> None:
    assert len(NLTK_STOP_WORDS) == 179
    assert [word for word in ("the", "in", "near", "although", "and", "across", "t") if is_no_nltk_stop_word(word)] == [
        "near",
        "although",
        "across",
    ]
