"""Captions with at least one word; those without are dropped and counted."""

from collections.abc import Iterable, Iterator

from vtr_core.data.sources.reasons import Reason
from vtr_core.data.sources.source import Drops
from vtr_core.text.tokens.vocabulary import tokenise


def worded_captions(captions: Iterable[object], where: str, drops: Drops) -> Iterator[tuple[int, str]]:
    """(position, caption) of every text with a word; `where` names the source of the others in their drop message."""
    for position, caption in enumerate(captions):
        if isinstance(caption, str) and tokenise(caption):
            yield position, caption
        else:
            drops.drop(Reason.EMPTY_CAPTION, f"{where}: the caption {caption!r} holds no word")
