"""Options of an ingest from flags and presets: its vocabulary, given or of the words counted in captions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pipelines.arguments import check_counts
from vtr_core.config.data_sets import Tokenizer, UnknownWords
from vtr_core.config.override import LONGEST
from vtr_core.errors import ConfigError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vtr_core.data.ingest.plan import IngestOptions
    from vtr_core.data.manifest import Manifest
    from vtr_core.data.shards.word_table import WordTable
    from vtr_core.data.sources.source import AnySource, Source, VideoEntry
    from vtr_core.text.tokens.vocabulary import WordTags


Records = Literal["clips", "videos"]


@dataclass(frozen=True)
class RecordFlags:
    """The flag that selects the kind of records, on which a source's settings depend."""

    records: Records = "clips"
    """What a row is. clips: a clip and a caption, features pooled over time; videos (msrvtt, msvd, didemo, activitynet,
    synthetic): a whole video, with all frames and captions. Other sources have one kind of row."""


@dataclass(frozen=True)
class IngestFlags:
    """Flags of all sources."""

    out: str
    """Output folder or URI; with splits, one data set per split is written below it."""
    splits: dict[str, float] = field(default_factory=dict)
    """Split randomly by video, for instance: --splits train .8 val .1 test .1 (default: the source's splits)."""
    split_seed: int = 0
    """Random seed of the split and of the order of videos."""
    word_vectors: str | None = None
    """word2vec (binary or text) or GloVe file, or BigFile folder (feature.bin, shape.txt, id.txt); without it, word
    vectors are trained with the model."""
    more_captions: tuple[str, ...] = ()
    """Files of further captions, one a line (of columns apart by tabs the last), whose words count for the vocabulary:
    those of a second data set to train on together, which is then ingested with --vocabulary."""
    vocabulary: str | None = None
    """Use the vocabulary and word vectors of this data set instead."""
    preset: str | None = None
    """Settings of captions that this preset of vtr train asks for, such as hybrid-msrvtt-published; the flags below
    give the others."""
    min_count: int | None = None
    """Minimum number of occurrences of a vocabulary word in the training captions (default: 1)."""
    tokenizer: Tokenizer | None = None
    """Tokenizer of captions, fixed for the data set: words (default; runs of letters of any alphabet, digits and
    apostrophes, and ICU's words in Chinese, Japanese, Thai, Lao, Khmer and Burmese, which have no spaces), or
    alphanumeric (A-Z, a-z and 0-9 only, as the published dual encoders)."""
    unknown_words: UnknownWords | None = None
    """Words outside the vocabulary: dropped (default), or token (each becomes <unk>, which dual encoders read)."""
    tagger: str | None = None
    """Part-of-speech tagger, which makes words measure/verb: default (included), spacy:NAME or spacy:FOLDER,
    wordnet:FOLDER, treetagger:FOLDER (default: no parts of speech)."""
    max_words: int | Literal["longest"] | None = None
    """Captions are cut after this number of words; longest: none is cut (default: 20, or as many as those of the data
    set of --vocabulary)."""
    videos_per_shard: int = 256
    """Videos per Parquet file."""
    strict: bool = False
    """Fail where a row would be dropped."""
    gpus_per_shard: float = 0.0
    """GPUs per shard task; 0.25 lets four tasks share one (clip_frames --device cuda)."""
    workers: Literal[0] | None = None
    """0: in this process, without Ray, one shard after another. Otherwise tasks on the whole cluster."""
    json: bool = False
    """Print what was made as JSON, and everything else on standard error."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""


def vocabulary_set(uri: str) -> "Manifest":
    """The training data whose vocabulary another data set takes, and its length of captions: so they can be joined."""
    from vtr_core.data.manifest import Manifest, data_set

    return Manifest.load(data_set(uri, "train"))


def ingest_sources(whole_videos: bool = False) -> "Mapping[str, type[Source]]":
    """The sources by name; those that can write whole videos."""
    from vtr_core.data.sources.all import SOURCES, WHOLE_VIDEOS
    from vtr_core.extraction.pictures import FrameFolders

    return {**(WHOLE_VIDEOS if whole_videos else SOURCES), FrameFolders.name: FrameFolders}


def ingest_options(flags: IngestFlags) -> "IngestOptions":
    """The options from flags and preset; ConfigError where they contradict each other."""
    from vtr_core.data.ingest.plan import IngestOptions

    check_counts("vtr ingest", videos_per_shard=flags.videos_per_shard, min_count=flags.min_count)
    if flags.split_seed < 0:
        raise ConfigError(f"vtr ingest: --split-seed is {flags.split_seed}; it must be 0 or more")
    words: dict[str, Any] = {
        "tokenizer": flags.tokenizer,
        "min_count": flags.min_count,
        "unknown": flags.unknown_words,
        "uncut": None if flags.max_words is None else flags.max_words == "longest",
        "tagged": None if flags.tagger is None else True,
        "vectors": None if flags.word_vectors is None and flags.vocabulary is None else True,
    }
    for name, value in _asked(flags.preset).items():
        if words[name] not in (None, value):
            raise ConfigError(
                f"--preset {flags.preset} asks for {name} = {value}, not {words[name]}; leave out that flag"
            )
        words[name] = value
    if isinstance(flags.max_words, int):
        if not 1 <= flags.max_words <= LONGEST:
            raise ConfigError(f"--max-words is {flags.max_words}; it must be from 1 to {LONGEST}, or longest")
        max_words: int | None = flags.max_words
    else:
        max_words = None if words["uncut"] else 20
        if flags.max_words is None and flags.vocabulary is not None:
            max_words = vocabulary_set(flags.vocabulary).schema.max_words
    return IngestOptions(
        splits=flags.splits,
        seed=flags.split_seed,
        max_words=max_words,
        min_count=words["min_count"] or 1,
        tokenizer=words["tokenizer"] or "words",
        unknown=words["unknown"] or "dropped",
        tagger=flags.tagger or ("default" if words["tagged"] else None),
        videos_per_shard=flags.videos_per_shard,
        strict=flags.strict,
    )


def _asked(name: str | None) -> dict[str, Any]:
    """The caption settings of a preset."""
    from vtr_core.run.presets import preset

    return {} if name is None else preset(name).captions.asked


def given_words(flags: IngestFlags) -> "WordTable | None":
    """The vocabulary of the data set of --vocabulary; ConfigError where a preset asks for vectors and has none."""
    from vtr_core.data.shards.word_table import WordTable

    if flags.vocabulary is None and flags.word_vectors is None and _asked(flags.preset).get("vectors"):
        raise ConfigError(
            f"--preset {flags.preset} asks for word vectors, as the published code has: give --word-vectors FILE, of "
            "word2vec or GloVe"
        )
    if flags.vocabulary is None:
        return None
    if flags.word_vectors is not None:
        raise ConfigError("give --vocabulary or --word-vectors, not both")
    if flags.more_captions:
        raise ConfigError("--more-captions are counted for a new vocabulary; leave them out, or --vocabulary")
    if flags.tagger is not None:
        raise ConfigError("--vocabulary brings its tagger; leave out --tagger")
    words = WordTable.load(vocabulary_set(flags.vocabulary))
    if flags.tokenizer not in (None, words.vocabulary.tokenizer):
        raise ConfigError(
            f"the vocabulary of {flags.vocabulary} is of {words.vocabulary.tokenizer}, not of {flags.tokenizer}; "
            "leave out --tokenizer, or --vocabulary"
        )
    return words


VIDEOS_AT_ONCE = 1024
"""Videos per task of counting words; up to this number the command counts itself."""


def counted_words(
    flags: IngestFlags,
    source: "AnySource",
    videos: "Sequence[VideoEntry]",
    tokenizer: Tokenizer,
    tags: "WordTags | None",
) -> Counter[str]:
    """Word counts of captions, and of --more-captions: in this process, or, for many videos, in Ray tasks."""
    from vtr_core.text.tokens.vocabulary import word_counts

    more = word_counts((caption for file in flags.more_captions for caption in _lines(file)), tokenizer, tags)
    if flags.workers == 0 or len(videos) <= VIDEOS_AT_ONCE:
        return _counted(tokenizer, tags, source, videos) + more
    from pipelines.ray_session import begin_reading, on_ray

    begin_reading(flags.worker_logs, apart=True)
    parts = [videos[first : first + VIDEOS_AT_ONCE] for first in range(0, len(videos), VIDEOS_AT_ONCE)]
    total: Counter[str] = Counter()
    for done, counts in enumerate(on_ray(partial(_counted, tokenizer, tags), source, parts), 1):
        total.update(counts)
        print(f"  words of {min(done * VIDEOS_AT_ONCE, len(videos))} of {len(videos)} videos", flush=True)
    return total + more


def _counted(
    tokenizer: Tokenizer, tags: "WordTags | None", source: "AnySource", videos: "Sequence[VideoEntry]"
) -> Counter[str]:
    from vtr_core.data.ingest.plan import count_words

    return count_words(source, videos, tokenizer, tags)


def _lines(uri: str) -> list[str]:
    """The captions of a file of --more-captions; InputError where it cannot be read."""
    from vtr_core.data.sources.files import filled_lines
    from vtr_core.storage import locate

    captions = [line.rpartition("\t")[2].strip() for line in filled_lines(locate(uri))]
    if not captions:
        raise InputError(f"--more-captions {uri} holds no caption; give a file with one a line")
    return captions
