from vtr_core.data.worlds.narrated_videos import SLOTS, lexicon, names
from vtr_core.text.tokens.vocabulary import tokenise


def test_no_word_names_two_concepts():
    words = [word for slot in SLOTS for concept in range(5000) for word in names(slot, concept)]
    assert len(set(words)) == len(words) == len(lexicon(5000))


def test_a_concept_has_one_to_three_names_of_one_token_each():
    for slot in SLOTS:
        for concept in range(100):
            assert 1 <= len(names(slot, concept)) <= 3
            assert all(tokenise(word) == [word] for word in names(slot, concept))


def test_the_first_forty_are_english_and_the_others_made_up():
    assert names("action", 0) == ("cut", "chop", "slice")
    assert not any(word.startswith("x") for word in lexicon(40))
    assert all(names(slot, 40)[0].startswith("x") for slot in SLOTS)


def test_the_lexicon_inverts_names():
    meanings = lexicon(60)
    for position, slot in enumerate(SLOTS):
        for concept in range(60):
            assert {meanings[word] for word in names(slot, concept)} == {(position, concept)}
