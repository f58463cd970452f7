"""LSMDC (Rohrbach et al. 2017): clips of films, each with a sentence."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from vtr_core import storage
from vtr_core.data.sources.annotated.annotated_videos import AnnotatedClips, AnnotatedFrames, AnnotatedListing
from vtr_core.data.sources.files import read_lines
from vtr_core.data.sources.reasons import Reason
from vtr_core.data.sources.source import AnnotatedVideo, Drops
from vtr_core.errors import InputError
from vtr_core.storage import Location, locate

FILES = {
    "train": "LSMDC16_annos_training.csv",
    "val": "LSMDC16_annos_val.csv",
    "test": "LSMDC16_challenge_1000_publictect.csv",
}
_CELLS = 6
"""Clip, start and end of the audio description, start and end of the clip, sentence."""


def read_lsmdc(folder: str, drops: Drops) -> Iterator[AnnotatedVideo]:
    """The clips of the annotation files, those that are there, in their order; the test has 1,000.

    A line has six cells between tabs, without header or quotes. A clip that has several lines has their sentences as
    captions. Clips are files of their own, so the times in the film are not needed, and durations are unknown, 0.
    Other lines, and clips of an earlier split, are dropped. InputError for a folder without any of the files.
    """
    place = locate(folder)
    files = {split: place / name for split, name in FILES.items() if storage.exists(place / name)}
    if not files:
        raise InputError(f"there are no LSMDC annotations at {place}; give the folder of {', '.join(FILES.values())}")
    seen: dict[str, str] = {}
    for split, file in files.items():
        for clip_id, sentences in _sentences(file, drops).items():
            if seen.setdefault(clip_id, split) == split:
                yield AnnotatedVideo(clip_id, split, 0.0, tuple(sentences))
            else:
                what = f"{file}, {clip_id}: it is in the split {seen[clip_id]} already"
                drops.drop(Reason.SPLIT_CONFLICT, what, len(sentences))


def _sentences(file: Location, drops: Drops) -> dict[str, list[str]]:
    """The sentences of every clip."""
    found: dict[str, list[str]] = {}
    for number, line in enumerate(read_lines(file), start=1):
        cells = line.split("\t")
        if len(cells) == _CELLS and cells[0].strip():
            found.setdefault(cells[0].strip(), []).append(cells[-1].strip())
        elif line.strip():
            what = f"{file}, line {number}: {line[:40]!r} is not a clip, four times and a sentence between tabs"
            drops.drop(Reason.BAD_LINE, what)
    return found


class _Annotations(AnnotatedListing):
    name: ClassVar[str] = "lsmdc"

    annotations: str
    """Folder of LSMDC16_annos_training.csv, LSMDC16_annos_val.csv and LSMDC16_challenge_1000_publictect.csv."""

    def _annotated(self, drops: Drops) -> Sequence[AnnotatedVideo]:
        return list(read_lsmdc(self.annotations, drops))


class Lsmdc(_Annotations, AnnotatedClips):
    """Clips of LSMDC."""


class LsmdcVideos(_Annotations, AnnotatedFrames):
    """Whole videos of LSMDC."""
