"""How many captions a data set shares between its videos."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class CaptionOverlap:
    """`surplus` of the `captions` captions repeat a caption of another video."""

    captions: int
    surplus: int

    @property
    def share(self) -> float:
        """surplus / captions; 0 where there are no captions."""
        return self.surplus / self.captions if self.captions else 0.0


def caption_overlap(captions_of: Iterable[Sequence[str]]) -> CaptionOverlap:
    """The surplus Σ over distinct captions of (videos with this caption − 1), and the number of captions.

    captions_of: the captions of each video. Captions are equal where their texts are, character by character; one that
    occurs twice in the same video counts once for it.
    """
    total, videos_with = 0, Counter[str]()
    for captions in captions_of:
        total += len(captions)
        videos_with.update(set(captions))
    return CaptionOverlap(total, sum(count - 1 for count in videos_with.values()))
