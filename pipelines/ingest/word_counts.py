"""Counts of the words in a source's captions: in this process, or in Ray tasks."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from pipelines.ingest.flags import IngestFlags
from vtr_core.config.caption_text import Tokenizer

if TYPE_CHECKING:
    from vtr_core.data.ingest.plan import CountWords
    from vtr_core.data.sources.source import AnySource, VideoEntry
    from vtr_core.text.tokens.word_tags import WordTags

VIDEOS_AT_ONCE = 1024
"""Videos per task of counting words; up to this number the command counts itself."""


def count_on_ray(flags: IngestFlags) -> "CountWords":
    """The function that counts words: in this process, or, for many videos, in Ray tasks whose counts are added."""
    from vtr_core.data.ingest.plan import count_words

    def count(
        source: "AnySource", videos: "Sequence[VideoEntry]", tokenizer: Tokenizer, tags: "WordTags | None"
    ) -> Counter[str]:
        if flags.workers == 0 or len(videos) <= VIDEOS_AT_ONCE:
            return count_words(source, videos, tokenizer, tags)
        from pipelines.ingest.on_ray import begin_reading, on_ray

        begin_reading(flags.worker_logs, apart=True)
        parts = [videos[first : first + VIDEOS_AT_ONCE] for first in range(0, len(videos), VIDEOS_AT_ONCE)]
        total: Counter[str] = Counter()
        for done, counts in enumerate(on_ray(partial(_counted, tokenizer, tags), source, parts), 1):
            total.update(counts)
            print(f"  words of {min(done * VIDEOS_AT_ONCE, len(videos))} of {len(videos)} videos", flush=True)
        return total

    return count


def _counted(
    tokenizer: Tokenizer, tags: "WordTags | None", source: "AnySource", videos: "Sequence[VideoEntry]"
) -> Counter[str]:
    from vtr_core.data.ingest.plan import count_words

    return count_words(source, videos, tokenizer, tags)
