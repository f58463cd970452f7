"""The interface of sources: videos with their clips, captions, frames or steps, or images of faces."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float16, UInt8

from vtr_core.data.records.arrays import PairList, TimedLabel
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.shards.thumbnails import Thumbnail
from vtr_core.data.sources.files import text_of
from vtr_core.errors import InputError
from vtr_core.text.tokens.vocabulary import tokenise
from vtr_core.unusable import Reason, UnusableError

MAX_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class VideoEntry:
    """One video to ingest. `content` is the adapter's small description of it, which is sent to a task."""

    video_id: str
    content: Any
    split: str | None = None


@dataclass(frozen=True)
class Clip:
    """A row of a clip and one caption. Features that the clip lacks are absent from `features`."""

    clip_id: str
    start: float
    end: float
    caption: str
    features: Mapping[str, Float16[np.ndarray, " dim"]]
    metadata: Mapping[str, str] = field(default_factory=dict)
    """The texts of the kept columns; those that are absent count as ""."""


@dataclass(frozen=True)
class Video:
    """A row of a video with all its captions, at least one. Features that it lacks are absent."""

    video_id: str
    captions: Sequence[str]
    features: Mapping[str, Float16[np.ndarray, "_ _"]]
    """By name, (frames, dim); `text` has a vector per caption, in their order."""


@dataclass(frozen=True)
class StepVideo:
    """A row of a video, its ordered steps, and their annotated segments. Features that it lacks are absent."""

    video_id: str
    task: str
    steps: Sequence[str]
    """The texts of the steps, at least one, in order."""
    labels: Sequence[str]
    """The label of each step in `segments`; steps with the same label are repetitions."""
    segments: Sequence[TimedLabel]
    features: Mapping[str, Float16[np.ndarray, "_ _"]]
    """By name, (seconds, dim): one frame a second."""


@dataclass(frozen=True)
class FaceImage:
    """A row of an image of a subject."""

    image_id: str
    pixels: UInt8[np.ndarray, "height width channels"]


@dataclass(frozen=True)
class FrameClip:
    """A row of a clip with all its captions, at least one, and its frames, each with its time in the video."""

    clip_id: str
    start: float
    end: float
    captions: Sequence[str]
    times: Sequence[float]
    frames: Sequence[bytes]
    """JPEG files."""


@dataclass
class Drops:
    """Counts what was dropped by reason and keeps the first few examples; `strict` makes any drop an InputError.

    A caption that is cut after the data set's `max_words` words stays: it is `shortened`, which is no drop.
    """

    strict: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    shortened: int = 0

    def drop(self, reason: str, message: str, rows: int = 1) -> None:
        """Count `rows` dropped rows for `reason`; `message` describes the row and its fault."""
        if self.strict:
            raise InputError(f"{message} ({reason}); correct it, or leave out --strict to drop and count such rows")
        self.counts[reason] += rows
        examples = self.examples.setdefault(reason, [])
        if len(examples) < MAX_EXAMPLES:
            examples.append(message)

    def add(self, counts: Mapping[str, int], examples: Mapping[str, Sequence[str]]) -> None:
        """Add what others have counted."""
        self.counts.update(counts)
        for reason in counts:
            self.examples.setdefault(reason, []).extend(examples.get(reason, []))


@runtime_checkable
class Source(Protocol):
    """An adapter for one kind of raw data. It is pickled to the ingest's tasks, so it holds settings, not data.

    Every source is a ClipSource, a VideoSource, a StepSource, an ImageSource or a FrameSource; the kind of records
    that an ingest writes follows.
    """

    name: ClassVar[str]

    def settings(self) -> dict[str, Any]:
        """The adapter's settings as JSON, for the manifest and for telling one ingest from another."""
        ...

    def features(self) -> tuple[FeatureSpec, ...]:
        """The feature columns, dimensions per clip or per frame; InputError where the files do not tell."""
        ...

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """All videos, each id once, in a deterministic order; faults in the annotations are dropped and counted."""
        ...

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The caption texts of `videos`, for building a vocabulary."""
        ...


@runtime_checkable
class ClipSource(Source, Protocol):
    """A source of `clips`: one row per clip and caption."""

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        """The clips of one video, each checked; whatever cannot be used is dropped and counted."""
        ...


@runtime_checkable
class VideoSource(Source, Protocol):
    """A source of `videos`: one row per video."""

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:
        """The video whole, its frames checked; None, dropped and counted, where it cannot be used."""
        ...


@runtime_checkable
class StepSource(Source, Protocol):
    """A source of `steps`: one row per video, with the ordered steps of its task."""

    def step_video(self, video: VideoEntry, drops: Drops) -> StepVideo | None:
        """The video with its steps, its frames checked; None, dropped and counted, where it cannot be used."""
        ...


@runtime_checkable
class FrameSource(Source, Protocol):
    """A source of `frames`: one row per clip, with its pictures."""

    def pictures(self) -> tuple[int, int]:
        """Height and width of every picture."""
        ...

    def frame_clips(self, video: VideoEntry, drops: Drops) -> Iterator[FrameClip]:
        """The clips of one video; whatever cannot be used is dropped and counted."""
        ...


@runtime_checkable
class ThumbnailSource(Protocol):
    """A source that may have thumbnails."""

    def thumbnails(self, video: VideoEntry) -> Iterator[Thumbnail]:
        """The thumbnails of a video's rows, without repeated ids."""
        ...


@runtime_checkable
class ImageSource(Source, Protocol):
    """A source of `images`: one row per image; its videos are the subjects."""

    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of every image; InputError where no file tells."""
        ...

    def images(self, subject: VideoEntry) -> Iterator[FaceImage]:
        """The images of one subject; InputError, naming the file, for one that cannot be used."""
        ...

    def pairs(self, subjects: Sequence[VideoEntry]) -> PairList:
        """The pairs for the evaluation of verification, of the subjects of one split."""
        ...


AnySource = ClipSource | VideoSource | StepSource | ImageSource | FrameSource


def worded_captions(captions: Iterable[object], where: str, drops: Drops) -> Iterator[tuple[int, str]]:
    """(position, caption) of every text with a word; `where` names the source of the others in their drop message."""
    for position, caption in enumerate(captions):
        text = text_of(caption, f"{where}, caption {position + 1}")
        if text is not None and tokenise(text):
            yield position, text
        else:
            drops.drop(Reason.EMPTY_CAPTION, f"{where}: the caption {caption!r} holds no word")


KEPT = "kept_without_features"
"""Key of these rows in the counts of dropped rows; unlike others they are part of the data set."""


def count_fault(fault: UnusableError, keep: bool, rows: int, drops: Drops) -> None:
    """Count the rows of a video without usable features: under KEPT where they stay, else under the fault's reason."""
    if keep:
        drops.drop(KEPT, f"{fault} ({fault.reason})", rows)
    else:
        drops.drop(fault.reason, str(fault), rows)
