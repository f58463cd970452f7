"""Options of an ingest, and the vocabulary it is given, from flags and presets."""

from typing import TYPE_CHECKING, Any

from pipelines.arguments import check_counts
from pipelines.ingest.flags import IngestFlags
from pipelines.ingest.vocabulary import caption_length, words_of_data_set
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vtr_core.data.ingest.plan import IngestOptions
    from vtr_core.data.shards.word_table import WordTable
    from vtr_core.data.sources.source import Source


def ingest_sources(whole_videos: bool = False) -> "Mapping[str, type[Source]]":
    """The sources by name; those that can write whole videos."""
    from vtr_core.data.sources.all import SOURCES, WHOLE_VIDEOS
    from vtr_core.extraction.frame_folders import FrameFolders

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
    }
    for name, asked in _asked(flags.preset).items():
        if words[name] not in (None, asked):
            raise ConfigError(
                f"--preset {flags.preset} asks for {name} = {asked}, not {words[name]}; leave out that flag"
            )
        words[name] = asked
    if isinstance(flags.max_words, int):
        if flags.max_words < 1:
            raise ConfigError(f"--max-words is {flags.max_words}; it must be at least 1, or longest")
        max_words: int | None = flags.max_words
    else:
        max_words = caption_length(flags.vocabulary) if flags.max_words is None else None
        max_words = max_words or (None if words["uncut"] else 20)
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
    """The vocabulary of the data set of --vocabulary."""
    if flags.vocabulary is None:
        return None
    if flags.word_vectors is not None:
        raise ConfigError("give --vocabulary or --word-vectors, not both")
    if flags.tagger is not None:
        raise ConfigError("--vocabulary brings its tagger; leave out --tagger")
    words = words_of_data_set(flags.vocabulary)
    if flags.tokenizer not in (None, words.vocabulary.tokenizer):
        raise ConfigError(
            f"the vocabulary of {flags.vocabulary} is of {words.vocabulary.tokenizer}, not of {flags.tokenizer}; "
            "leave out --tokenizer, or --vocabulary"
        )
    return words
