"""An ingest as a plan of independent, recorded shard tasks, with a final manifest."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, assert_never

import numpy as np

from vtr_core import storage
from vtr_core.config.caption_text import Tokenizer, UnknownWords
from vtr_core.config.record import record
from vtr_core.data.ingest.clips import clip_groups
from vtr_core.data.ingest.frames import frame_groups
from vtr_core.data.ingest.images import image_groups
from vtr_core.data.ingest.steps import step_groups
from vtr_core.data.ingest.videos import video_groups
from vtr_core.data.manifest import FILE as MANIFEST
from vtr_core.data.manifest import Manifest, Shard, VocabularyRecord
from vtr_core.data.plan.split import assign_splits
from vtr_core.data.records.face_pairs import save_pairs
from vtr_core.data.records.schema import ClipSchema, FrameSchema, ImageSchema, Schema, StepSchema, VideoSchema
from vtr_core.data.shards.thumbnails import SUFFIX, write_thumbnails
from vtr_core.data.shards.word_table import Wording, WordTable
from vtr_core.data.shards.writing import GroupTable, write_shard
from vtr_core.data.sources.source import (
    AnySource,
    ClipSource,
    Drops,
    FrameSource,
    ImageSource,
    KeepsColumns,
    StepSource,
    ThumbnailSource,
    VideoEntry,
    VideoSource,
)
from vtr_core.errors import ConfigError, DatasetError, RunConflict
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import Location, is_file_name
from vtr_core.text.tokens.vocabulary import word_counts, words_of
from vtr_core.text.tokens.word_tags import WordTags

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
        for told in ("tokenizer", "unknown", "tagger"):  # the words' fingerprint covers it
            del options[told]
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
    `word_vectors` if given.
    """
    drops = Drops(options.strict)
    videos = source.videos(drops)
    if not videos:
        raise DatasetError(f"{_given(source)} holds no usable video{_first_example(drops)}")
    by_split = _by_split(videos, options)
    schema = _schema(source, options.max_words or _longest(source.captions(videos), words, options.tokenizer))
    if words is None:
        tags = None if options.tagger is None else WordTags.of(options.tagger)
        counts = count(source, by_split.get("train", videos), options.tokenizer, tags)
        wording = Wording(options.min_count, options.tokenizer, options.unknown, tags)
        words = WordTable.from_counts(counts, wording, options.max_words is None, word_vectors)
    tasks = [task for split, members in by_split.items() for task in _tasks(split, members, options)]
    return IngestPlan(source, out, schema, words, tasks, options, drops)


def _longest(captions: Iterable[str], given: WordTable | None, tokenizer: Tokenizer) -> int:
    """The number of words of the longest caption, at least 1."""
    if given is not None and given.vocabulary.pairs is not None:
        return max(1, max(map(len, given.vocabulary.cut_all(captions)), default=1))
    tokenizer = tokenizer if given is None else given.vocabulary.tokenizer
    return max(1, max((len(words_of(caption, tokenizer)) for caption in captions), default=1))


def _schema(source: AnySource, max_words: int) -> Schema:
    match source:
        case ClipSource():
            kept = source.keep_columns if isinstance(source, KeepsColumns) else ()
            return ClipSchema(source.features(), max_words, kept)
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


def _tasks(split: str, videos: Sequence[VideoEntry], options: IngestOptions) -> list[ShardTask]:
    """The shard tasks of a split, whose videos are shuffled."""
    order = np.random.default_rng(options.seed).permutation(len(videos))
    size = options.videos_per_shard
    starts = range(0, len(videos), size)
    return [ShardTask(split, i, [videos[j] for j in order[s : s + size]]) for i, s in enumerate(starts)]


def is_complete(plan: IngestPlan) -> bool:
    """Whether the output already is the complete data set of `plan`; RunConflict where it is another one."""
    folders = [plan.folder(split) for split in plan.splits]
    written = [folder for folder in folders if storage.exists(folder / MANIFEST)]
    for folder in written:
        if Manifest.load(folder.uri).source.get("ingest") != plan.fingerprint:
            raise RunConflict(f"{folder} already holds another data set; delete it or choose another --out")
    return len(written) == len(folders)


def begin(plan: IngestPlan) -> list[ShardTask]:
    """Claim the output and return the unfinished tasks; RunConflict where another ingest has begun there."""
    claim = plan.out / RECORDS / "plan.json"
    if not storage.exists(claim):
        _write(claim, {"fingerprint": plan.fingerprint})
    elif storage.read_json(claim) != {"fingerprint": plan.fingerprint}:
        raise RunConflict(
            f"{plan.out} holds an interrupted ingest with other settings; repeat that command to resume it, "
            "delete the folder, or choose another --out"
        )
    return [task for task in plan.tasks if not storage.exists(plan.record(task))]


def do(plan: IngestPlan, task: ShardTask) -> dict[str, Any]:
    """Write one shard and its record; return the record."""
    drops = Drops(plan.options.strict)
    folder = plan.folder(task.split)
    try:
        shard = write_shard(plan.schema, _groups(plan, task, drops), folder / task.file)
        if isinstance(plan.source, ThumbnailSource):
            shard = _with_thumbnails(plan.source, task, shard, folder / f"{task.file}{SUFFIX}")
    except OSError as error:  # read errors of the source have been converted before
        raise _not_written(folder / task.file, error) from error
    dropped = {"dropped": dict(drops.counts), "examples": drops.examples, "shortened": drops.shortened}
    done = {"shard": shard.to_json(), **dropped}
    _write(plan.record(task), done)
    return done


def _with_thumbnails(source: ThumbnailSource, task: ShardTask, shard: Shard, place: Location) -> Shard:
    found = [one for video in task.videos for one in source.thumbnails(video)]
    return replace(shard, thumbnails=write_thumbnails(place, found)) if found and shard.rows else shard


def _write(place: Location, value: Mapping[str, Any]) -> None:
    try:
        storage.write_json(place, value)
    except OSError as error:
        raise _not_written(place, error) from error


def _not_written(place: Location, error: OSError) -> DatasetError:
    return DatasetError(
        f"{place} cannot be written ({error}); make room or choose another --out, and repeat the command"
    )


def _groups(plan: IngestPlan, task: ShardTask, drops: Drops) -> Iterator[GroupTable]:
    match plan.schema:
        case ClipSchema():
            assert isinstance(plan.source, ClipSource)
            return clip_groups(plan.source, plan.schema, plan.words.vocabulary, task.videos, drops)
        case VideoSchema():
            assert isinstance(plan.source, VideoSource)
            return video_groups(plan.source, plan.schema, plan.words.vocabulary, task.videos, drops)
        case StepSchema():
            assert isinstance(plan.source, StepSource)
            return step_groups(plan.source, plan.schema, plan.words.vocabulary, task.videos, drops)
        case ImageSchema():
            assert isinstance(plan.source, ImageSource)
            return image_groups(plan.source, plan.schema, task.videos)
        case FrameSchema():
            assert isinstance(plan.source, FrameSource)
            return frame_groups(plan.source, plan.schema, plan.words.vocabulary, task.videos, drops)
        case _:
            assert_never(plan.schema)


@dataclass(frozen=True)
class IngestResult:
    """The written data sets, and the dropped rows of all of them with examples."""

    manifests: Sequence[Manifest]
    drops: Drops


@dataclass(frozen=True)
class _Done:
    """The record of a finished task."""

    shard: dict[str, Any]
    dropped: dict[str, int]
    examples: dict[str, list[str]]
    shortened: int = 0


def _read(plan: IngestPlan, task: ShardTask) -> _Done:
    """The record of `task`; DatasetError with a remedy where it is damaged."""
    place = plan.record(task)
    try:
        found = record(_Done, storage.read_json(place))
        if Shard.from_json(found.shard).file != task.file:
            raise ValueError(f"it is not of {task.file}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{place} is damaged ({error}); delete it, and repeat the command") from error
    return found


def finish(plan: IngestPlan) -> IngestResult:
    """Write vocabulary and manifest of every split from the tasks' records, the manifests last."""
    drops = Drops()
    _add(drops, plan.listed.counts, plan.listed.examples)
    manifests = []
    for split in plan.splits:
        done = [_read(plan, task) for task in plan.tasks if task.split == split]
        dropped: Drops = Drops()
        for task in done:
            _add(dropped, task.dropped, task.examples)
            drops.shortened += task.shortened
        _add(drops, dropped.counts, dropped.examples)
        shards = [shard for shard in (Shard.from_json(task.shard) for task in done) if shard.rows]
        manifests.append(_manifest(plan, split, shards, dropped, drops))
    for manifest in manifests:
        manifest.save()
    storage.delete_folder(plan.out / RECORDS)
    return IngestResult(manifests, drops)


def finished(plan: IngestPlan) -> IngestResult:
    """The result of an earlier, complete ingest of `plan`."""
    manifests = [Manifest.load(plan.folder(split).uri) for split in plan.splits]
    return IngestResult(manifests, Drops())


def _manifest(plan: IngestPlan, split: str, shards: Sequence[Shard], dropped: Drops, seen: Drops) -> Manifest:
    folder = plan.folder(split)
    if not shards:
        what = f"{_given(plan.source)} gives no usable row for {folder}"
        raise DatasetError(f"{what}, every one was dropped{_first_example(seen)}")
    vocabulary: VocabularyRecord = plan.words.save(folder)
    source = {"adapter": plan.source.name, **plan.source.settings(), "split": split, "ingest": plan.fingerprint}
    if isinstance(plan.source, ImageSource):
        source["pairs"] = _pairs(plan, split)
    return Manifest(folder.uri, plan.schema, vocabulary, tuple(shards), source, dict(sorted(dropped.counts.items())))


def _pairs(plan: IngestPlan, split: str) -> dict[str, Any]:
    """Write the pairs of a split's subjects, in listed order; returns the record of their file."""
    assert isinstance(plan.source, ImageSource)
    subjects = [video for task in plan.tasks if task.split == split for video in task.videos]
    found = plan.source.pairs(sorted(subjects, key=lambda subject: subject.video_id))
    return asdict(save_pairs(found, plan.folder(split)))


def _add(drops: Drops, counts: Mapping[str, int], examples: Mapping[str, Sequence[str]]) -> None:
    for reason, count in counts.items():
        drops.counts[reason] += count
        drops.examples.setdefault(reason, []).extend(examples.get(reason, []))


def _given(source: AnySource) -> str:
    """The name of the source with its input locations."""
    places = [f"{name} {value}" for name, value in source.settings().items() if isinstance(value, str)]
    return f"{source.name} ({', '.join(places)})" if places else source.name


def _first_example(drops: Drops) -> str:
    found = [f"{reason}: {texts[0]}" for reason, texts in drops.examples.items() if texts]
    return f" ({found[0]})" if found else ""


def abandon(plan: IngestPlan) -> None:
    """Remove the output of a failed ingest, unless it has a finished shard and can be resumed."""
    if any(storage.exists(plan.record(task)) for task in plan.tasks):
        return
    for folder in [plan.out / RECORDS, *(plan.folder(split) for split in plan.splits if split)]:
        storage.delete_folder(folder)
    if storage.exists(plan.out) and not any(storage.children(plan.out)):
        storage.delete_folder(plan.out)
