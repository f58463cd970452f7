"""Rows without features that are kept in test sets, so that the number of queries is that of the protocol.

Training data drops such rows. In test sets this would average the metrics of models over different queries.
"""

from collections.abc import Callable, Container, Iterator, Sequence

from vtr_core.data.sources.annotated.video import AnnotatedVideo
from vtr_core.data.sources.names import check_id
from vtr_core.data.sources.reasons import UnusableError
from vtr_core.data.sources.source import Drops

TEST = "test"
"""The split whose videos are kept."""
KEPT = "kept_without_features"
"""Key of these rows in the counts of dropped rows; unlike others they are part of the data set."""


def listed_videos(
    videos: Sequence[AnnotatedVideo],
    present: Container[str],
    keep_missing: bool,
    where: str,
    missing: Callable[[str], UnusableError],
    rows: Callable[[AnnotatedVideo], int],
    drops: Drops,
) -> Iterator[tuple[AnnotatedVideo, bool]]:
    """The annotated videos with content, each with whether it is a test video that stays in any case.

    present: the names of videos with content. Test videos without it stay with `keep_missing`, unless no test video has
    any. Other videos without content (`missing`), and ids that cannot name a file, are dropped; each counts `rows`.
    """
    keep = keep_missing and any(video.split == TEST and video.name_among(present) for video in videos)
    for video in videos:
        kept = keep and video.split == TEST
        try:
            check_id(video.video_id)
            if not kept and video.name_among(present) is None:
                raise missing(video.video_id)
        except UnusableError as fault:
            drops.drop(fault.reason, f"{where}: {fault}", rows(video))
        else:
            yield video, kept


def count_fault(fault: UnusableError, keep: bool, rows: int, drops: Drops) -> None:
    """Count the rows of a video without usable features: under KEPT where they stay, else under the fault's reason."""
    if keep:
        drops.drop(KEPT, f"{fault} ({fault.reason})", rows)
    else:
        drops.drop(fault.reason, str(fault), rows)
