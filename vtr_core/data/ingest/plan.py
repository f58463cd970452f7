"""The plan of an ingest: its shard tasks, the schema and the vocabulary."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import assert_never

import numpy as np

from vtr_core.config.data_sets import TextUnit, Tokenizer, UnknownWords
from vtr_core.config.override import LONGEST
from vtr_core.data.plan import assign_splits
from vtr_core.data.records.schema import (
    ClipSchema,
    FrameSchema,
    ImageSchema,
    Schema,
    StepSchema,
    VideoSchema,
    check_feature_names,
)
from vtr_core.data.shards.word_table import Wording, WordTable
from vtr_core.data.sources.source import (
    AnySource,
    ClipSource,
    Drops,
    FrameSource,
    ImageSource,
    StepSource,
    VideoEntry,
    VideoSource,
)
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import Location, is_file_name
from vtr_core.text.tokens.vocabulary import WordTags, word_counts, words_of

RECORDS = "_ingest"
"""The folder of the records of finished tasks, removed once the manifests are written."""

CountWords = Callable[[AnySource, Sequence[VideoEntry], Tokenizer, WordTags | None], Counter[str]]


@dataclass(frozen=True)
class IngestOptions:
    """Settings of an ingest beside its source."""

    splits: Mapping[str, float] = field(default_factory=dict)
    """Shares of videos, for instance {"train": .8, "val": .2}; empty: the source's own splits, if it has any."""
    seed: int = 0
    """Random seed of the split and of the order of videos."""
    max_words: int | None = 20
    """Maximum number of words of a caption, after which it is truncated; None: the longest caption's."""
    min_count: int = 1
    """Minimum number of occurrences of a vocabulary word in the training captions."""
    tokenizer: Tokenizer = "words"
    """The tokenizer of captions."""
    unknown: UnknownWords = "dropped"
    """The treatment of words outside the vocabulary."""
    tagger: str | None = None
    """The part-of-speech tagger for words `measure/verb` (None: words without part of speech)."""
    videos_per_shard: int = 256
    """Videos per Parquet file."""
    strict: bool = False
    """Whether dropped rows are errors."""


@dataclass(frozen=True)
class ShardTask:
    """A shard to write: its split ("" for a data set without splits), its number and its videos."""

    split: str
    index: int
    videos: Sequence[VideoEntry]

    @property
    def name(self) -> str:
        """The task's name among the records."""
        return f"{self.split or 'all'}-{self.index:05d}"

    @property
    def file(self) -> str:
        """The shard's file name in its data set's folder."""
        return f"part-{self.index:05d}.parquet"


@dataclass(frozen=True)
class IngestPlan:
    """All shard tasks of an ingest into `out`, their common settings, and the rows dropped while listing."""

    source: AnySource
    out: Location
    schema: Schema
    words: WordTable
    tasks: Sequence[ShardTask]
    options: IngestOptions
    listed: Drops

    @property
    def fingerprint(self) -> str:
        """A hash that is equal for ingests that write the same data set."""
        options = {**asdict(self.options), "strict": None, "max_words": self.schema.max_words}
        for setting in ("tokenizer", "unknown", "tagger"):  # the words' fingerprint covers it
            del options[setting]
        videos = [[task.name, *(video.video_id for video in task.videos)] for task in self.tasks]
        return fingerprint(
            [self.source.name, self.source.settings(), self.schema.to_json(), self.words.fingerprint, options, videos]
        )

    @property
    def splits(self) -> list[str]:
        """The splits, each of which becomes a data set."""
        return list(dict.fromkeys(task.split for task in self.tasks))

    def folder(self, split: str) -> Location:
        """The folder of the data set of `split`."""
        return self.out / split if split else self.out

    def record(self, task: ShardTask) -> Location:
        """The record file of the finished `task`."""
        return self.out / RECORDS / f"{task.name}.json"


def count_words(
    source: AnySource, videos: Sequence[VideoEntry], tokenizer: Tokenizer, tags: WordTags | None
) -> Counter[str]:
    """Word counts of the captions of `videos`, by part of speech where there are tags."""
    return word_counts(source.captions(videos), tokenizer, tags)


def plan_ingest(
    source: AnySource,
    out: Location,
    words: WordTable | None,
    options: IngestOptions,
    word_vectors: str | None = None,
    count: CountWords = count_words,
) -> IngestPlan:
    """List the videos, split and shuffle them, and collect the vocabulary.

    The vocabulary is `words`, or that of the training captions, counted by `count`, with vectors of the file
    `word_vectors` if given. ConfigError for a feature's name that data sets use for something else.
    """
    check_feature_names(feature.name for feature in source.features())
    drops = Drops(options.strict)
    videos = source.videos(drops)
    if not videos:
        raise DatasetError(f"{source_text(source)} holds no usable video{first_example(drops)}")
    by_split = _by_split(videos, options)
    schema = _schema(source, options.max_words or _longest(source.captions(videos), words, options.tokenizer))
    if words is None:
        tags = None if options.tagger is None else WordTags.of(options.tagger)
        counts = count(source, by_split.get("train", videos), options.tokenizer, tags)
        wording = Wording(options.min_count, options.tokenizer, options.unknown, tags)
        words = WordTable.from_counts(counts, wording, options.max_words is None, word_vectors)
    tasks = []
    for split, members in by_split.items():
        order = np.random.default_rng(options.seed).permutation(len(members))
        for index, first in enumerate(range(0, len(members), options.videos_per_shard)):
            chosen = order[first : first + options.videos_per_shard]
            tasks.append(ShardTask(split, index, [members[number] for number in chosen]))
    return IngestPlan(source, out, schema, words, tasks, options, drops)


def _longest(captions: Iterable[str], words: WordTable | None, tokenizer: TextUnit) -> int:
    """The number of words of the longest caption, from 1 to LONGEST, after which longer ones are cut."""
    cut = partial(words_of, tokenizer=tokenizer)
    if words is not None:
        cut = partial(words_of, tokenizer=words.vocabulary.tokenizer, version=words.vocabulary.version)
    return min(LONGEST, max(1, max((len(cut(caption)) for caption in captions), default=1)))


def _schema(source: AnySource, max_words: int) -> Schema:
    match source:
        case ClipSource():
            return ClipSchema(source.features(), max_words, getattr(source, "keep_columns", ()))
        case VideoSource():
            return VideoSchema(source.features(), max_words)
        case StepSource():
            return StepSchema(source.features(), max_words)
        case ImageSource():
            return ImageSchema(source.features(), max_words, *source.shape())
        case FrameSource():
            return FrameSchema(source.features(), max_words, *source.pictures())
        case _:
            assert_never(source)


def _by_split(videos: Sequence[VideoEntry], options: IngestOptions) -> dict[str, list[VideoEntry]]:
    if options.splits:
        assigned = assign_splits([video.video_id for video in videos], options.splits, options.seed)
        videos = [replace(video, split=assigned[video.video_id]) for video in videos]
    names = sorted({video.split or "" for video in videos})
    for name in names:
        if name and (name.startswith("_") or not is_file_name(name)):
            raise ConfigError(f"the split {name!r} cannot be a folder of the data set; use letters and digits")
    return {name: [video for video in videos if (video.split or "") == name] for name in names}


def source_text(source: AnySource) -> str:
    """The name of the source with its input locations."""
    places = [f"{name} {value}" for name, value in source.settings().items() if isinstance(value, str)]
    return f"{source.name} ({', '.join(places)})" if places else source.name


def first_example(drops: Drops) -> str:
    """An example of the first reason for which rows were dropped, in brackets; empty where none was."""
    examples = [f"{reason}: {texts[0]}" for reason, texts in drops.examples.items() if texts]
    return f" ({examples[0]})" if examples else ""
