"""A video of a published data set as its annotation files describe it."""

from collections.abc import Container
from dataclasses import dataclass


@dataclass(frozen=True)
class AnnotatedVideo:
    """A video as annotated: its duration in seconds (0: unknown), its captions in the order of the file."""

    video_id: str
    split: str | None
    duration: float
    captions: tuple[str, ...]
    other_names: tuple[str, ...] = ()
    """Names beside its id that its files may have."""
    end: float | None = None
    """Seconds of the video that were annotated, from its start (None: all)."""

    def name_among(self, present: Container[str]) -> str | None:
        """The first of its names that is `present`; None where there is none."""
        return next((name for name in (self.video_id, *self.other_names) if name in present), None)
