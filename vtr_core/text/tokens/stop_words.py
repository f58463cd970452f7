"""Grammatical function words of English, which name no concept: a short list, on purpose without content words."""

_ARTICLES = "a an the this that these those some any each every no another other such both all"
_PRONOUNS = (
    "i me my mine myself you your yours yourself he him his himself she her hers herself it its itself we us our ours "
    "they them their theirs themselves who whom whose which what someone somebody something one there here"
)
_PREPOSITIONS = (
    "of in on at by for with from to into onto out off over under up down about after before between through during "
    "around near next along across against as than like without within upon"
)
_CONJUNCTIONS = "and or but nor so if then because while when where how why whether until although though also"
_AUXILIARIES = (
    "is are was were be been being am do does did doing done have has had having will would shall should can could may "
    "might must going go goes get gets gonna let"
)
_PARTICLES = "not yes just very too really well now again okay ok only more most much many few lot kind"

STOP_WORDS = frozenset(" ".join((_ARTICLES, _PRONOUNS, _PREPOSITIONS, _CONJUNCTIONS, _AUXILIARIES, _PARTICLES)).split())
_ENDINGS = frozenset({"s", "m", "re", "ve", "ll", "d", "t"})


def is_concept(word: str) -> bool:
    """Whether a lower-case word may name a concept: two letters or more, and no function word.

    A contraction is a function word where its first part is one ("it's", "we'll", "can't"), or where it ends in n't.
    """
    stem, apostrophe, ending = word.partition("'")
    if apostrophe and (word.endswith("n't") or (ending in _ENDINGS and (not stem or stem in STOP_WORDS))):
        return False
    return sum(character.isalpha() for character in word) >= 2 and word not in STOP_WORDS
