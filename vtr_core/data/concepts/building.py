"""The concepts of a data set: counted in its captions, chosen, written, reported."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from statistics import median

from vtr_core.config.data_sets import Ambiguity
from vtr_core.data.captions import VideoCaptions, video_captions
from vtr_core.data.concepts.concept_table import ConceptCounts, ConceptTable, CountedSet, TableHead, save_concept_table
from vtr_core.data.manifest import Manifest
from vtr_core.errors import DatasetError
from vtr_core.text.concepts import (
    ConceptSettings,
    ambiguous_lemmas,
    ambiguous_words,
    counted_concepts,
    frequencies,
    is_ambiguous,
    kept_counts,
    part_counts,
    ranked,
)
from vtr_core.text.statistics import caption_overlap
from vtr_core.text.tagging.tagger import PosTagger, TaggedWord
from vtr_core.text.tokens.vocabulary import clean_words

Words = tuple[str, ...]


@dataclass(frozen=True)
class SetReport:
    """What the captions of a data set are like."""

    uri: str
    videos: int
    captions: int
    without_words: int
    """Captions without a Latin letter or digit."""
    overlap: float
    """Share of captions that repeat another video's (see `text.statistics.caption_overlap`)."""
    ambiguous: int
    """Captions that are ambiguous, as `TableSettings.ambiguous` says."""


MIN_CAPTIONS = 2
_MOST_UNLABELLED = 0.5
"""Share of videos without any concept from which on labels say nothing of a data set."""
_MOST_WITHOUT_WORDS = 0.5
"""Share of captions without a Latin letter or digit from which on a data set is taken to be in another alphabet."""


@dataclass(frozen=True)
class TableSettings:
    """What a concept table depends on beside captions and tagger."""

    concepts: ConceptSettings = field(default_factory=ConceptSettings)
    min_captions: int | None = None
    """Captions of a video that must mention a concept; None: each data set's own, 2 where most of its videos have two
    captions or more, else 1 (TGIF has 124,534 captions of 100,855 GIFs)."""
    ambiguous: Ambiguity = "caption"
    """What makes a caption ambiguous."""
    ambiguous_share: float = 0.0
    """By the corpus: share of a word's occurrences that a second part of speech needs, for the word to be ambiguous."""


@dataclass(frozen=True)
class _CaptionedSet:
    manifest: Manifest
    videos: Sequence[VideoCaptions]
    words: Sequence[Sequence[Words]]
    """Of each video's captions, cleaned."""
    min_captions: int

    @property
    def captions(self) -> Iterable[Words]:
        """The words of all captions."""
        return (caption for video in self.words for caption in video)


def build_concept_table(
    manifests: Sequence[Manifest],
    tagger: PosTagger,
    settings: TableSettings,
    out: str,
    num_concepts: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
    training: Sequence[int] = (0,),
) -> tuple[ConceptTable, tuple[SetReport, ...]]:
    """Tag the captions of all data sets, rank the concepts of the training data, count them in all, write the table.

    A concept is kept for a video if enough of its captions mention it; the names are ranked by the sum of the kept
    counts of the data sets with the numbers `training` together (ties: the first to be kept, in the order of the data,
    comes first). Ambiguous words are those of all captions.
    num_concepts: a vocabulary that the training data must offer, before anything is written. Raises DatasetError.
    """
    sets = [_captioned_set(manifest, settings) for manifest in manifests]
    tagged: dict[Words, list[TaggedWord]] = {}
    for part in sets:
        progress(f"tagging the captions of {part.manifest.uri} with {tagger.name}")
        captions = dict.fromkeys(words for words in part.captions if words not in tagged)
        tagged.update(zip(captions, tagger.tag(list(captions)), strict=True))
    concepts_of = {words: counted_concepts(words_tagged, settings.concepts) for words, words_tagged in tagged.items()}
    counts = [
        [kept_counts([concepts_of[words] for words in video], part.min_captions) for video in part.words]
        for part in sets
    ]
    total = frequencies(of_video for number in training for of_video in counts[number])
    names = ranked(total)
    _require_concepts(sets[0], names, num_concepts)
    for part, own in zip(sets, counts, strict=True):
        _require_labels(part, own, frozenset(names))
    _require_one_truth(sets, counts)
    ambiguous = _ambiguous(tagged, sets, settings)
    head = TableHead(
        tagger=tagger.name,
        tagger_fingerprint=tagger.fingerprint,
        parts=tuple(part.value for part in settings.concepts.parts),
        pos=settings.concepts.pos,
        names=names,
        frequency=tuple(total[name] for name in names),
        datasets=tuple(
            CountedSet(
                part.manifest.uri,
                part.manifest.fingerprint,
                len(part.videos),
                sum(len(video.captions) for video in part.videos),
                part.min_captions,
            )
            for part in sets
        ),
        stop_words=settings.concepts.stop_words,
        count=settings.concepts.count,
        training=tuple(training),
    )
    matrices = [_matrix(part, own, names, ambiguous) for part, own in zip(sets, counts, strict=True)]
    return save_concept_table(out, head, matrices), tuple(_report(part, ambiguous) for part in sets)


def _ambiguous(
    tagged: Mapping[Words, list[TaggedWord]], sets: Sequence[_CaptionedSet], settings: TableSettings
) -> Set[Words]:
    """The captions, cleaned, that are ambiguous."""
    if settings.ambiguous == "caption":
        return {words for words, caption in tagged.items() if ambiguous_lemmas(caption)}
    used = part_counts(tagged[words] for part in sets for words in part.captions)
    ambiguous = ambiguous_words(used, settings.ambiguous_share)
    return {words for words in tagged if is_ambiguous(words, ambiguous)}


def _report(part: _CaptionedSet, ambiguous: Set[Words]) -> SetReport:
    captions = list(part.captions)
    return SetReport(
        uri=part.manifest.uri,
        videos=len(part.videos),
        captions=len(captions),
        without_words=sum(not words for words in captions),
        overlap=caption_overlap(video.captions for video in part.videos).share,
        ambiguous=sum(words in ambiguous for words in captions),
    )


def _captioned_set(manifest: Manifest, settings: TableSettings) -> _CaptionedSet:
    videos = list(video_captions(manifest))
    words = [[tuple(clean_words(caption)) for caption in video.captions] for video in videos]
    texts = [caption for video in videos for caption in video.captions]
    without = [text for text, cleaned in zip(texts, chain(*words), strict=True) if not cleaned]
    if not texts or len(without) > _MOST_WITHOUT_WORDS * len(texts):
        example = f", for instance {without[0]!r}" if without else ""
        raise DatasetError(
            f"{len(without)} of the {len(texts)} captions of {manifest.uri} hold no Latin letter or digit{example}; "
            "concepts are made from English captions"
        )
    own = MIN_CAPTIONS if median(map(len, words)) >= MIN_CAPTIONS else 1
    return _CaptionedSet(manifest, videos, words, settings.min_captions or own)


def _require_concepts(part: _CaptionedSet, names: Sequence[str], num_concepts: int | None) -> None:
    if len(names) >= (num_concepts or 1):
        return
    raise DatasetError(
        f"the captions of {part.manifest.uri} offer {len(names)} concepts that {part.min_captions} captions of a video "
        f"mention, fewer than the {num_concepts or 1} needed; lower --min-captions or --num-concepts, or give more "
        "parts of speech with --parts"
    )


def _require_labels(part: _CaptionedSet, counts: Sequence[Mapping[str, int]], names: frozenset[str]) -> None:
    """DatasetError where most videos of a data set have no label: a model would learn that they show nothing."""
    unlabelled = sum(names.isdisjoint(own) for own in counts)
    if unlabelled > _MOST_UNLABELLED * len(counts):
        raise DatasetError(
            f"{unlabelled} of the {len(counts)} videos of {part.manifest.uri} would have no concept: no word of the "
            f"vocabulary is in {part.min_captions} of their captions; lower --min-captions, name more parts of speech "
            "with --parts, or leave the data set out"
        )


def _require_one_truth(sets: Sequence[_CaptionedSet], counts: Sequence[Sequence[Mapping[str, int]]]) -> None:
    """DatasetError where a video stands in two data sets with different counts: its labels would be either's."""
    counted: dict[int, tuple[str, Mapping[str, int]]] = {}
    for part, own in zip(sets, counts, strict=True):
        for video, mentions in zip(part.videos, own, strict=True):
            uri, other = counted.setdefault(video.video_key, (part.manifest.uri, mentions))
            if other != mentions:
                raise DatasetError(
                    f"the video {video.video_id} stands in {uri} and in {part.manifest.uri} with different captions; "
                    "make a table for each"
                )


def _matrix(
    part: _CaptionedSet, counts: Sequence[Mapping[str, int]], names: Sequence[str], ambiguous: Set[Words]
) -> ConceptCounts:
    keys = chain(*(video.keys for video in part.videos))
    chosen = [key for key, words in zip(keys, part.captions, strict=True) if words in ambiguous]
    return ConceptCounts.from_kept([video.video_key for video in part.videos], counts, names, chosen)
