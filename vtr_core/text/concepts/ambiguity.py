"""Words used as more than one part of speech, and captions that contain one: queries for which a tagger matters."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from vtr_core.text.tagging.tagger import TaggedWord
from vtr_core.text.tagging.universal_tags import Part, part_of
from vtr_core.text.tokens.stop_words import is_concept


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
