"""Concepts of captions: those that a caption names, those kept for a video, stop words, ambiguous words."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vtr_core.config.data_sets import LabelCount, StopWords
from vtr_core.errors import DatasetError
from vtr_core.json_text import parse_json
from vtr_core.text.tagging.tagger import Part, TaggedWord, part_of

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


_LIST = (
    "i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself yourselves he him "
    "his himself she she's her hers herself it it's its itself they them their theirs themselves what which who "
    "whom this that that'll these those am is are was were be been being have has had having do does did doing a "
    "an the and but if or because as until while of at by for with about against between into through during "
    "before after above below to from up down in out on off over under again further then once here there when "
    "where why how all any both each few more most other some such no nor not only own same so than too very s t "
    "can will just don don't should should've now d ll m o re ve y ain aren aren't couldn couldn't didn didn't "
    "doesn doesn't hadn hadn't hasn hasn't haven haven't isn isn't ma mightn mightn't mustn mustn't needn needn't "
    "shan shan't shouldn shouldn't wasn wasn't weren weren't won won't wouldn wouldn't "
)
NLTK_STOP_WORDS = frozenset(_LIST.split())


def is_no_nltk_stop_word(word: str) -> bool:
    """Whether a lower-case word is not in the list."""
    return word not in NLTK_STOP_WORDS


@dataclass(frozen=True)
class ConceptNames:
    """The names of the concepts in the order of the model's scores, and the fingerprint of the table they are from."""

    names: tuple[str, ...]
    table: str

    def to_json(self) -> bytes:
        """The content of `concepts.json`."""
        return (json.dumps({"names": self.names, "table": self.table}, ensure_ascii=False) + "\n").encode()

    @classmethod
    def from_json(cls, content: bytes, where: str = "concepts.json") -> "ConceptNames":
        """The names that `to_json` wrote at `where`; DatasetError where the content is damaged."""
        try:
            value = parse_json(content)
            names, table = value["names"], value["table"]
            usable = isinstance(table, str) and isinstance(names, list) and all(isinstance(n, str) for n in names)
        except (ValueError, KeyError, TypeError) as error:
            raise DatasetError(f"{where} is no list of concepts ({error!r})") from error
        if not usable or len(set(names)) != len(names):
            raise DatasetError(f"{where} is no list of distinct concepts")
        return cls(tuple(names), table)


_PIECES = "don doesn didn isn aren wasn weren hasn haven hadn wouldn couldn shouldn ll re ve"
_CUT_CONTRACTIONS = frozenset(_PIECES.split())
"""What cleaning leaves of function words such as "don't"."""


@dataclass(frozen=True)
class ConceptSettings:
    """Which words are concepts."""

    parts: tuple[Part, ...] = (Part.NOUN, Part.VERB, Part.ADJECTIVE)
    pos: bool = False
    """Whether the part of speech belongs to a concept's name: `measure/verb` and `measure/noun`, or `measure`."""
    stop_words: StopWords = "short"
    """The list of words that name no concept. NLTK's leaves prepositions such as `near` and `across`."""
    count: LabelCount = "occurrences"
    """What labels count: the occurrences of a concept, or the captions that mention it."""


def caption_concepts(caption: Iterable[TaggedWord], settings: ConceptSettings) -> list[str]:
    """The concepts that a caption names, each once, in the order of their first words."""
    return list(dict.fromkeys(named_concepts(caption, settings)))


def counted_concepts(caption: Iterable[TaggedWord], settings: ConceptSettings) -> list[str]:
    """The concepts that a caption adds to the counts of its video, as often as `settings.count` counts them."""
    count = named_concepts if settings.count == "occurrences" else caption_concepts
    return count(caption, settings)


def named_concepts(caption: Iterable[TaggedWord], settings: ConceptSettings) -> list[str]:
    """The concept that each word of a caption names, of those that name one.

    A word is a concept if its part of speech is one of `settings.parts` and neither it nor its lemma is a stop word or,
    with our own list, has fewer than two letters. The concept's name is the lemma.
    """
    names = []
    is_named = _names_something if settings.stop_words == "short" else is_no_nltk_stop_word
    for word in caption:
        part = part_of(word.pos)
        if part in settings.parts and is_named(word.text) and is_named(word.lemma):
            names.append(f"{word.lemma}/{part}" if settings.pos else word.lemma)
    return names


def _names_something(word: str) -> bool:
    return is_concept(word) and word not in _CUT_CONTRACTIONS


def kept_counts(captions: Iterable[Sequence[str]], min_captions: int) -> dict[str, int]:
    """The concepts named by at least `min_captions` of a video's captions, with their number in `captions`.

    captions: the concepts of each caption, as often as they are counted. The result is in order of first occurrence.
    """
    counts, mentions = Counter[str](), Counter[str]()
    for caption in captions:
        counts.update(caption)
        mentions.update(set(caption))
    return {concept: count for concept, count in counts.items() if mentions[concept] >= min_captions}


def frequencies(by_video: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum of every concept's kept counts over all videos, in the order of first occurrence."""
    total: Counter[str] = Counter()
    for counts in by_video:
        total.update(counts)
    return dict(total)


def ranked(total: Mapping[str, int]) -> tuple[str, ...]:
    """The concepts by descending frequency; of equally frequent ones the one that occurred first comes first.

    The vocabulary of K concepts is the first K.
    """
    return tuple(sorted(total, key=lambda concept: -total[concept]))


def part_counts(captions: Iterable[Sequence[TaggedWord]]) -> Counter[tuple[str, Part]]:
    """How often each word occurs as each part of speech, function words and tags outside of `Part` excluded."""
    counts: Counter[tuple[str, Part]] = Counter()
    for caption in captions:
        for word in caption:
            part = part_of(word.pos)
            if part is not None and is_concept(word.text):
                counts[word.text, part] += 1
    return counts


def ambiguous_words(counts: Mapping[tuple[str, Part], int], min_share: float = 0.0) -> frozenset[str]:
    """The words with at least two parts of speech that each make up `min_share` or more of the word's occurrences.

    At `min_share` 0 tagging errors make most frequent words ambiguous; a threshold of a few per cent excludes them.
    """
    total: Counter[str] = Counter()
    for (word, _), count in counts.items():
        total[word] += count
    usual = Counter(word for (word, _), count in counts.items() if count >= min_share * total[word])
    return frozenset(word for word, parts in usual.items() if parts > 1)


def is_ambiguous(words: Iterable[str], ambiguous: frozenset[str]) -> bool:
    """Whether a caption of these words contains an ambiguous one."""
    return not ambiguous.isdisjoint(words)


def ambiguous_lemmas(caption: Iterable[TaggedWord]) -> frozenset[str]:
    """The lemmas that occur in a caption as two parts of speech or more: `a man cooks on a cook stove` (thesis, 3.3.2).

    Function words and tags outside of `Part` do not count.
    """
    parts: dict[str, set[Part]] = {}
    for word in caption:
        part = part_of(word.pos)
        if part is not None and is_concept(word.text):
            parts.setdefault(word.lemma, set()).add(part)
    return frozenset(lemma for lemma, used in parts.items() if len(used) > 1)
