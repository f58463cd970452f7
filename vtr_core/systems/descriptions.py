"""Captions generated for a data set's videos."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class CaptionedVideos:
    """Generated captions, references (possibly none), and whether the video has frames, by video id in file order."""

    hypotheses: dict[str, str] = field(default_factory=dict)
    references: dict[str, tuple[str, ...]] = field(default_factory=dict)
    seen: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Descriptions:
    """Captions of a data set, and a page of some of them."""

    videos: CaptionedVideos
    page: str
    """HTML: videos from the best to the worst caption, with their references."""
    num_shown: int
