"""Words that are used as more than one part of speech, and the captions that hold one: queries that need a tagger."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from vtr_core.text.tagging.tagger import TaggedWord
from vtr_core.text.tagging.universal_tags import Part, part_of
from vtr_core.text.tokens.stop_words import is_concept


def part_counts(captions: Iterable[Sequence[TaggedWord]]) -> Counter[tuple[str, Part]]:
    """How often each word occurs as each part of speech; without function words and tags that have no part."""
    counts: Counter[tuple[str, Part]] = Counter()
    for caption in captions:
        for word in caption:
            part = part_of(word.pos)
            if part is not None and is_concept(word.text):
                counts[word.text, part] += 1
    return counts


def ambiguous_words(counts: Mapping[tuple[str, Part], int], min_share: float = 0.0) -> frozenset[str]:
    """The words with two parts of speech or more, each at least `min_share` of the word's occurrences.

    A tagger's slips make most frequent words ambiguous at `min_share` 0; a few per cent leave them out.
    """
    total: Counter[str] = Counter()
    for (word, _), count in counts.items():
        total[word] += count
    usual = Counter(word for (word, _), count in counts.items() if count >= min_share * total[word])
    return frozenset(word for word, parts in usual.items() if parts > 1)


def is_ambiguous(words: Iterable[str], ambiguous: frozenset[str]) -> bool:
    """Whether a caption of these words holds an ambiguous one."""
    return not ambiguous.isdisjoint(words)
