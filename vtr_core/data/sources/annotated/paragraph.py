"""Sentences of a video as one text, for paragraph-to-video retrieval."""

from collections.abc import Iterable

from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.worded_captions import worded_captions


def paragraph(sentences: Iterable[object], where: str, drops: Drops) -> tuple[str, ...]:
    """The sentences that hold a word, joined by spaces in their order; empty where none does.

    Others are dropped and counted; `where` names the video.
    """
    kept = [" ".join(text.split()) for _, text in worded_captions(sentences, where, drops)]
    return (" ".join(kept),) if kept else ()
