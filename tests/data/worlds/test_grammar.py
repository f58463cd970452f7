import itertools

import numpy as np

from vtr_core.data.worlds import narrated_videos as grammar
from vtr_core.data.worlds.narrated_videos import SLOTS, lexicon
from vtr_core.text.tokens.vocabulary import tokenise

WORDS = {"agent": "chef", "action": "cut", "object": "onion", "tool": "knife", "place": "kitchen"}


def test_every_content_word_given_is_said_once_and_no_other():
    rng = np.random.default_rng(0)
    for size in range(1, len(SLOTS) + 1):
        for slots in itertools.combinations(SLOTS, size):
            for _ in range(40):
                spoken = [w for w in tokenise(grammar.narrate({s: WORDS[s] for s in slots}, rng)) if w in lexicon(40)]
                assert sorted(spoken) == sorted(WORDS[slot] for slot in slots)


def test_filler_holds_no_content_word():
    phrases = [phrase for value in vars(grammar).values() if isinstance(value, tuple) for phrase in value]
    assert len(phrases) > 50
    assert not set(tokenise(" ".join(phrases))) & set(lexicon(40))


def test_the_sentence_depends_on_which_slots_are_mentioned_not_on_their_words():
    others = {"agent": "monk", "action": "fold", "object": "egg", "tool": "saw", "place": "gym"}
    for seed in range(50):
        one = grammar.narrate(WORDS, np.random.default_rng(seed))
        two = grammar.narrate(others, np.random.default_rng(seed))
        swap = dict(zip(WORDS.values(), others.values(), strict=True))
        assert [swap.get(word, word) for word in one.split()] == two.split()


def test_narrations_vary():
    rng = np.random.default_rng(0)
    assert len({grammar.narrate(WORDS, rng) for _ in range(500)}) > 450
