"""The queries of an explanation, from the command line or a file, with the relevant video where known."""

from collections.abc import Sequence

from vtr_core.errors import InputError
from vtr_core.retrieval.explain.values import AskedQuery

LONGEST_QUERY = 1000
"""Greatest number of characters of a query."""


def parse_queries(content: bytes, where: str) -> list[tuple[str, str | None]]:
    """The lines "text" or "text<tab>video id", without empty ones; InputError for a file that is not UTF-8 or empty."""
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not UTF-8 ({error}); write one query in each line") from error
    found = []
    for line in lines:
        text, tab, video = line.partition("\t")
        if text.strip():
            found.append((text.strip(), video.strip() if tab and video.strip() else None))
    if not found:
        raise InputError(f"{where} holds no query; write one in each line, or a query, a tab and the right video's id")
    return found


def asked_queries(
    given: Sequence[tuple[str, str | None]],
    video_ids: Sequence[str],
    captions: Sequence[str],
    caption_video: Sequence[int],
) -> list[AskedQuery]:
    """The queries with the positions of their relevant videos among `video_ids`.

    For a query given without a video, the relevant videos are those with exactly this caption. Raises InputError for
    unknown videos and for queries that are too long.
    """
    position = {video_id: i for i, video_id in enumerate(video_ids)}
    carried: dict[str, set[int]] = {}
    for text, video in zip(captions, caption_video, strict=True):
        carried.setdefault(text.strip(), set()).add(int(video))
    found = []
    for text, wanted in given:
        if len(text) > LONGEST_QUERY:
            raise InputError(f"the query {text[:60]!r} … has {len(text)} characters; {LONGEST_QUERY} are allowed")
        if wanted is not None and wanted not in position:
            raise InputError(f"the data set has no video {wanted!r} with features, which the query {text!r} names")
        right = carried.get(text, set()) if wanted is None else {position[wanted]}
        found.append(AskedQuery(text, tuple(sorted(right))))
    return found
