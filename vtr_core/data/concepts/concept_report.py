"""Statistics of a concept table: parts of speech, top concepts, coverage, overlap, ambiguity."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vtr_core.data.captions import VideoCaptions
from vtr_core.data.concepts.concept_table import TableHead
from vtr_core.text.concepts import is_ambiguous
from vtr_core.text.statistics import caption_overlap
from vtr_core.text.tagging.tagger import Part

VOCABULARIES = (256, 512)
"""Sizes of the vocabulary for which coverage is reported, beside all concepts."""


@dataclass(frozen=True)
class Coverage:
    """What the first `concepts` names reach in a data set."""

    concepts: int
    videos: float
    """Share of videos that keep one of them."""
    mentions: float
    """Share of the sum of kept counts that falls on them."""
    per_video: float
    """Of them that a video keeps, on average."""


@dataclass(frozen=True)
class SetReport:
    """One data set."""

    uri: str
    videos: int
    captions: int
    without_words: int
    """Captions without a Latin letter or digit."""
    overlap: float
    """Share of captions that repeat another video's (see `text.overlap`)."""
    ambiguous: int
    """Captions with a word that the corpus uses as more than one part of speech."""
    coverage: tuple[Coverage, ...]


@dataclass(frozen=True)
class ConceptReport:
    """All of it."""

    words: dict[str, int]
    """Occurrences of content words by part of speech, in all data sets."""
    distinct: dict[str, int]
    """Distinct content words by part of speech."""
    concepts: int
    top: tuple[tuple[str, int], ...]
    """The most frequent concepts with their frequency in the first data set."""
    ambiguous_words: tuple[tuple[str, dict[str, int]], ...]
    """The most frequent ambiguous words, with their occurrences by part of speech."""
    datasets: tuple[SetReport, ...]

    @classmethod
    def of(
        cls,
        head: TableHead,
        used: Mapping[tuple[str, Part], int],
        ambiguous: frozenset[str],
        datasets: Sequence[SetReport],
        top: int = 100,
    ) -> "ConceptReport":
        """The report on a table; `used` counts words by part of speech."""
        words, distinct = Counter[str](), Counter[str]()
        by_word: dict[str, dict[str, int]] = {}
        for (word, part), count in used.items():
            words[part.value] += count
            distinct[part.value] += 1
            if word in ambiguous:
                by_word.setdefault(word, {})[part.value] = count
        frequent = sorted(by_word.items(), key=lambda item: (-sum(item[1].values()), item[0]))
        names = tuple(zip(head.names, head.frequency, strict=True))
        return cls(
            dict(words.most_common()), dict(distinct), len(names), names[:top], tuple(frequent[:top]), tuple(datasets)
        )

    def to_json(self) -> dict[str, Any]:
        """The content of report.json."""
        return asdict(self)


def set_report(
    uri: str,
    videos: Sequence[VideoCaptions],
    words: Sequence[Sequence[Sequence[str]]],
    counts: Sequence[Mapping[str, int]],
    names: Sequence[str],
    ambiguous: frozenset[str],
) -> SetReport:
    """The report on one data set. words: of each video's captions, cleaned; counts: the kept counts of each video."""
    cleaned = [caption for video in words for caption in video]
    sizes = [size for size in VOCABULARIES if size < len(names)] + [len(names)]
    return SetReport(
        uri=uri,
        videos=len(videos),
        captions=len(cleaned),
        without_words=sum(not caption for caption in cleaned),
        overlap=caption_overlap(video.captions for video in videos).share,
        ambiguous=sum(is_ambiguous(caption, ambiguous) for caption in cleaned),
        coverage=tuple(coverage(counts, frozenset(names[:size])) for size in sizes),
    )


def coverage(videos: Sequence[Mapping[str, int]], vocabulary: frozenset[str]) -> Coverage:
    """What a vocabulary reaches; videos without any kept concept count as not reached."""
    mentioned = sum(sum(counts.values()) for counts in videos)
    inside = [[count for name, count in counts.items() if name in vocabulary] for counts in videos]
    return Coverage(
        concepts=len(vocabulary),
        videos=sum(map(bool, inside)) / len(videos),
        mentions=sum(map(sum, inside)) / max(1, mentioned),
        per_video=sum(map(len, inside)) / len(videos),
    )
