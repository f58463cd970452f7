"""From the captions of data sets, tagged once, to a concept table and a report on them."""

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core import storage
from vtr_core.data.captions import VideoCaptions, video_captions
from vtr_core.data.concepts.concept_report import ConceptReport, SetReport, set_report
from vtr_core.data.concepts.concept_table import ConceptCounts, ConceptTable, CountedSet, TableHead, save_concept_table
from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.shard_file import caption_key
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import Location, locate
from vtr_core.text.concepts import (
    ConceptSettings,
    ambiguous_words,
    caption_concepts,
    frequencies,
    is_ambiguous,
    kept_counts,
    part_counts,
    ranked,
)
from vtr_core.text.tagging.tagger import PosTagger, TaggedWord
from vtr_core.text.tokens.vocabulary import clean_words

CHUNK = 16_384
"""Captions that are tagged and kept together; what an interrupted run has finished is found again."""

Words = tuple[str, ...]
_SCHEMA = pa.schema([("lemmas", pa.list_(pa.string())), ("tags", pa.list_(pa.string()))])


@dataclass
class TagCounts:
    """Distinct captions that were tagged now, and those that were found from before."""

    tagged: int = 0
    found: int = 0


def tag_captions(
    captions: Iterable[Words], tagger: PosTagger, cache: Location, counts: TagCounts
) -> Mapping[Words, list[TaggedWord]]:
    """The tagged words of every distinct caption.

    A file of the cache is named by the tagger's fingerprint and the captions in it; one that is damaged is made anew.
    """
    distinct = iter(dict.fromkeys(captions))
    tagged: dict[Words, list[TaggedWord]] = {}
    while chunk := list(islice(distinct, CHUNK)):
        place = cache / f"{_key(tagger, chunk)}.parquet"
        found = _read(place, chunk)
        if found is None:
            found = list(tagger.tag(chunk))
            storage.write_bytes(place, _to_bytes(found))
            counts.tagged += len(chunk)
        else:
            counts.found += len(chunk)
        tagged.update(zip(chunk, found, strict=True))
    return tagged


def _key(tagger: PosTagger, chunk: Sequence[Words]) -> str:
    content = hashlib.sha256("\n".join(" ".join(words) for words in chunk).encode()).hexdigest()
    return fingerprint([tagger.fingerprint, content])


def _to_bytes(tagged: Sequence[Sequence[TaggedWord]]) -> bytes:
    lemmas = pa.array([[word.lemma for word in caption] for caption in tagged], pa.list_(pa.string()))
    tags = pa.array([[word.pos for word in caption] for caption in tagged], pa.list_(pa.string()))
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([lemmas, tags], schema=_SCHEMA), sink, compression="zstd")
    return sink.getvalue()


def _read(place: Location, chunk: Sequence[Words]) -> list[list[TaggedWord]] | None:
    """What the cache holds of these captions; None where it does not, or not whole."""
    try:
        table = pq.read_table(io.BytesIO(storage.read_bytes(place)), schema=_SCHEMA)
        return list(_joined(chunk, table.column("lemmas").to_pylist(), table.column("tags").to_pylist()))
    except FileNotFoundError:
        return None
    except (pa.ArrowException, ValueError, TypeError, OSError):
        return None


def _joined(
    chunk: Sequence[Words], lemmas: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]
) -> Iterator[list[TaggedWord]]:
    for words, own_lemmas, own_tags in zip(chunk, lemmas, tags, strict=True):
        yield [TaggedWord(*word) for word in zip(words, own_lemmas, own_tags, strict=True)]


REPORT = "report.json"
MIN_CAPTIONS = 2
_MOST_WITHOUT_WORDS = 0.5
"""Share of captions without a Latin letter or digit from which on a data set is taken to be in another alphabet."""


@dataclass(frozen=True)
class TableSettings:
    """What a concept table depends on beside captions and tagger."""

    concepts: ConceptSettings = field(default_factory=ConceptSettings)
    min_captions: int | None = None
    """Captions of a video that must mention a concept; None: 2, or 1 where no video of a data set has more than one."""
    ambiguous_share: float = 0.0
    """Share of a word's occurrences that a second part of speech needs, for the word to be ambiguous."""


@dataclass(frozen=True)
class _TaggedSet:
    manifest: Manifest
    videos: Sequence[VideoCaptions]
    words: Sequence[Sequence[Words]]
    """Of each video's captions, cleaned."""
    min_captions: int


def _silent(_: str) -> None:
    """Where nobody wants to know how far it is."""


def build_concept_table(
    manifests: Sequence[Manifest],
    tagger: PosTagger,
    settings: TableSettings,
    out: str,
    cache: str,
    num_concepts: int | None = None,
    progress: Callable[[str], None] = _silent,
) -> tuple[ConceptTable, ConceptReport]:
    """Tag the captions of all data sets, rank the concepts of the first one, count them in all, and write the table.

    A concept is kept for a video if enough of its captions mention it; the names are ranked by the sum of the kept
    counts of the first data set (ties: the first to be kept, in the order
    of the data set, comes first). Ambiguous words are those of all captions.
    num_concepts: a vocabulary that the first data set must offer, before anything is written. Raises DatasetError.
    """
    sets = [_building_read(manifest, settings) for manifest in manifests]
    counts = TagCounts()
    tagged: dict[Words, list[TaggedWord]] = {}
    for part in sets:
        progress(f"tagging the captions of {part.manifest.uri} with {tagger.name}")
        captions = (words for video in part.words for words in video)
        tagged.update(tag_captions(captions, tagger, locate(cache), counts))
    progress(f"  {counts.tagged} distinct captions tagged, {counts.found} found in {cache}")
    concepts_of = {words: caption_concepts(words_tagged, settings.concepts) for words, words_tagged in tagged.items()}
    kept = [_kept(part, concepts_of) for part in sets]
    total = frequencies(kept[0])
    names = ranked(total)
    _require_concepts(sets[0], names, num_concepts)
    used = part_counts(tagged[words] for part in sets for video in part.words for words in video)
    ambiguous = ambiguous_words(used, settings.ambiguous_share)
    found = [_counts(part, own, names, ambiguous) for part, own in zip(sets, kept, strict=True)]
    _require_one_truth(sets, kept)
    head = TableHead(
        tagger=tagger.name,
        tagger_fingerprint=tagger.fingerprint,
        parts=tuple(part.value for part in settings.concepts.parts),
        pos=settings.concepts.pos,
        names=names,
        frequency=tuple(total[name] for name in names),
        datasets=tuple(_counted(part) for part in sets),
        stop_words=settings.concepts.stop_words,
    )
    reports = [_report(part, own, names, ambiguous) for part, own in zip(sets, kept, strict=True)]
    report = ConceptReport.of(head, used, ambiguous, reports)
    return save_concept_table(out, head, found, {REPORT: report.to_json()}), report


def _building_read(manifest: Manifest, settings: TableSettings) -> _TaggedSet:
    videos = list(video_captions(manifest))
    words = [[tuple(clean_words(caption)) for caption in video.captions] for video in videos]
    total = sum(map(len, words))
    without = [
        caption
        for video, own in zip(videos, words, strict=True)
        for caption, w in zip(video.captions, own, strict=True)
        if not w
    ]
    if not total or len(without) > _MOST_WITHOUT_WORDS * total:
        example = f", for instance {without[0]!r}" if without else ""
        raise DatasetError(
            f"{len(without)} of the {total} captions of {manifest.uri} hold no Latin letter or digit{example}; "
            "concepts are made from English captions"
        )
    fewest = 1 if max(map(len, words)) == 1 else MIN_CAPTIONS
    return _TaggedSet(manifest, videos, words, settings.min_captions or fewest)


def _kept(part: _TaggedSet, concepts_of: Mapping[Words, Sequence[str]]) -> list[dict[str, int]]:
    """The kept counts of every video."""
    return [kept_counts([concepts_of[words] for words in video], part.min_captions) for video in part.words]


def _require_concepts(part: _TaggedSet, names: Sequence[str], num_concepts: int | None) -> None:
    if len(names) >= (num_concepts or 1):
        return
    raise DatasetError(
        f"the captions of {part.manifest.uri} offer {len(names)} concepts that {part.min_captions} captions of a video "
        f"mention, fewer than the {num_concepts or 1} needed; lower --min-captions or --num-concepts, or give more "
        "parts of speech with --parts"
    )


def _require_one_truth(sets: Sequence[_TaggedSet], kept: Sequence[Sequence[Mapping[str, int]]]) -> None:
    """DatasetError where a video stands in two data sets with different counts: its labels would be either's."""
    seen: dict[int, tuple[str, Mapping[str, int]]] = {}
    for part, own in zip(sets, kept, strict=True):
        for video, counts in zip(part.videos, own, strict=True):
            uri, other = seen.setdefault(video.video_key, (part.manifest.uri, counts))
            if other != counts:
                raise DatasetError(
                    f"the video {video.video_id} stands in {uri} and in {part.manifest.uri} with different captions; "
                    "make a table for each"
                )


def _counts(
    part: _TaggedSet, kept: Sequence[Mapping[str, int]], names: Sequence[str], ambiguous: frozenset[str]
) -> ConceptCounts:
    keys = [
        caption_key(caption)
        for video, own in zip(part.videos, part.words, strict=True)
        for caption, words in zip(video.captions, own, strict=True)
        if is_ambiguous(words, ambiguous)
    ]
    return ConceptCounts.from_kept([video.video_key for video in part.videos], kept, names, keys)


def _counted(part: _TaggedSet) -> CountedSet:
    captions = sum(len(video.captions) for video in part.videos)
    return CountedSet(part.manifest.uri, part.manifest.fingerprint, len(part.videos), captions, part.min_captions)


def _report(
    part: _TaggedSet, kept: Sequence[Mapping[str, int]], names: Sequence[str], ambiguous: frozenset[str]
) -> SetReport:
    return set_report(part.manifest.uri, part.videos, part.words, kept, names, ambiguous)
