from tests.text.tagged import tagged
from vtr_core.text.concepts import ambiguous_words, is_ambiguous, part_counts
from vtr_core.text.tagging.tagger import Part

CAPTIONS = [
    tagged("I/PRON play/VERB the/DET main/ADJ character/NOUN in/ADP a/DET play/NOUN"),
    tagged("they/PRON play/VERB in/ADV the/DET water/NOUN"),
    *[tagged("they/PRON drink/VERB water/NOUN")] * 9,
    tagged("water/VERB flowers:flower/NOUN"),
    tagged("lego/PROPN and/CCONJ lego/NOUN"),
]


def test_words_are_counted_by_part_without_function_words():
    counts = part_counts(CAPTIONS)
    assert counts["play", Part.VERB] == 2
    assert counts["lego", Part.NOUN] == 2
    assert not any(word in ("in", "and", "the") for word, _ in counts)


def test_a_word_is_ambiguous_if_its_second_part_is_frequent_enough():
    counts = part_counts(CAPTIONS)
    assert ambiguous_words(counts) == {"play", "water"}
    assert ambiguous_words(counts, 1 / 11) == {"play", "water"}
    assert ambiguous_words(counts, 0.1) == {"play"}
    assert ambiguous_words({}) == frozenset()


def test_a_caption_is_ambiguous_with_one_such_word():
    assert is_ambiguous(["we", "play"], frozenset({"play"}))
    assert not is_ambiguous(["we", "plays"], frozenset({"play"}))
